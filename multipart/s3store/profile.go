package s3store

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart"
	"github.com/chunkup/chunkup/multipart/wire"
)

// Profile is what one provider's store can do and how it wants to be spoken to.
type Profile struct {
	Name string

	// PathStyle puts the bucket in the path instead of the host name.
	PathStyle bool

	// Region is used where none is configured; empty if there has to be one.
	Region string

	// Traits hold everything but the endpoint, which the client knows.
	Traits multipart.Traits
}

// profiles returns the table of stores. A value that no source confirms is the
// conservative one.
func profiles() []Profile {
	fullObject := multipart.Traits{Algorithm: chunker.CRC64NVME, FullObject: true}
	return []Profile{
		{Name: "aws", Traits: fullObject},
		{Name: "minio", PathStyle: true, Region: "us-east-1", Traits: fullObject},
		{Name: "versitygw", PathStyle: true, Region: "us-east-1", Traits: fullObject},
		// Content-MD5 is the one digest that every store verifies; 4768 MiB is
		// the largest part that all of them take (B2's limit, as rclone has it).
		{Name: "generic", PathStyle: true, Region: "us-east-1", Traits: multipart.Traits{
			Algorithm: chunker.MD5, Limits: chunker.Limits{MaxPart: 4768 << 20}}},
	}
}

// Names lists the profiles.
func Names() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.Name)
	}
	return names
}

// ByName returns the profile of a provider.
func ByName(name string) (Profile, error) {
	all := profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, fmt.Errorf("unknown provider %q: known are %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// Detect finds the profile for an endpoint: by its host name, else by the
// Server header of its answer to one anonymous request, which writes nothing.
// An empty endpoint is AWS's. A store that does not answer is generic; whoever
// uploads to it will hear why.
func Detect(ctx context.Context, client *wire.Client, endpoint string) Profile {
	name := "generic"
	switch {
	case endpoint == "" || IsAWS(endpoint):
		name = "aws"
	default:
		server := serverOf(ctx, client, endpoint)
		for _, known := range []string{"minio", "versitygw"} {
			if strings.HasPrefix(strings.ToLower(server), known) {
				name = known
			}
		}
	}
	p, _ := ByName(name)
	return p
}

// IsAWS reports whether an endpoint is one of AWS's own.
func IsAWS(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn")
}

func serverOf(ctx context.Context, client *wire.Client, endpoint string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, endpoint, nil)
	if err != nil {
		return ""
	}
	resp, err := client.Control(0).Do(req)
	if err != nil {
		return ""
	}
	return resp.Header.Get("Server")
}
