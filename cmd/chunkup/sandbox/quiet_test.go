package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Nothing may reach the terminal: it belongs to the program around the sandbox.
func TestPrintsNothing(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childVar+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v, printed %q", err, out)
	}
}

// quietChild runs a sandbox through what makes the gateway print by itself, in
// a process of its own. Its exit code is the number of the step that failed.
func quietChild(dir string) int {
	s, err := Start(context.Background(), Options{Dir: dir, Buckets: []string{"demo"}})
	if err != nil {
		return 3
	}
	for _, reset := range []bool{false, true} {
		for _, text := range []string{
			"", "hello\r\n\r\n", "BREW /demo/x HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET " + readyPath + " HTTP/1.1\r\nHost: x\r\n\r\n",
			"PUT /demo/x HTTP/1.1\r\nHost: x\r\nCont",
			"PUT /demo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc",
			"PUT /demo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 20000),
		} {
			if err := breakOff(s, text, reset); err != nil {
				return 4
			}
		}
	}
	if cutOff(s) != nil {
		return 5
	}
	if s.Close() != nil {
		return 6
	}
	return 0
}

// cutOff sends half of an object that it may send.
func cutOff(s *Server) error {
	p, err := s3.NewPresignClient(client(s, s.AccessKey(), s.SecretKey(), http.DefaultClient)).PresignPutObject(
		context.Background(), &s3.PutObjectInput{Bucket: aws.String("demo"), Key: aws.String("half")})
	if err != nil {
		return err
	}
	half := io.MultiReader(bytes.NewReader(pattern(mib)), iotest.ErrReader(errors.New("cut off")))
	req, err := http.NewRequest(p.Method, p.URL, half)
	if err != nil {
		return err
	}
	req.ContentLength = 2 * mib
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		return errors.New("an object cut off was stored")
	}
	return nil
}

// breakOff sends text and ends the connection once the server has had it.
func breakOff(s *Server, text string, reset bool) error {
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	if reset {
		return c.(*net.TCPConn).SetLinger(0)
	}
	return nil
}
