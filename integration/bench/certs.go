package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"github.com/chunkup/chunkup/integration/bench/sink"
)

// certify writes what a MinIO needs for TLS into its folder, and returns the file of
// the CA.
func certify(dir string) (ca string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	config, ca, err := sink.Certify(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	made := config.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		return "", err
	}
	write := func(name, kind string, der []byte) error {
		return os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	return ca, errors.Join(write("public.crt", "CERTIFICATE", made.Certificate[0]), write("private.key", "PRIVATE KEY", key))
}

// web speaks to the store, whose certificate it verifies.
func (s *store) web() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.ca != "" {
		text, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text)
	}
	return &http.Client{Transport: transport}, nil
}
