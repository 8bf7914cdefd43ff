package s3store

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/chunkup/chunkup/multipart/wire"
)

// Detect finds the profile for an endpoint: by its host name, else by the
// Server header of its answer to one anonymous request, which writes nothing.
// An empty endpoint is AWS's. Where the host names the region, the profile has
// it. A store that does not answer is generic; whoever uploads to it will hear
// why.
func Detect(ctx context.Context, client *wire.Client, endpoint string) Profile {
	name, region := "aws", ""
	if endpoint != "" {
		name, region = byHost(endpoint)
	}
	if name == "" {
		name = byServer(serverOf(ctx, client, endpoint))
	}
	p, _ := ByName(name)
	if region != "" {
		p.Region = region
	}
	return p
}

// IsAWS reports whether an endpoint is one of AWS's own.
func IsAWS(endpoint string) bool {
	name, _ := byHost(endpoint)
	return name == "aws"
}

// byHost knows the stores that have names of their own. Those of B2 and Wasabi
// hold the region: s3.eu-central-003.backblazeb2.com, s3.eu-central-1.wasabisys.com.
func byHost(endpoint string) (name, region string) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", ""
	}
	host := strings.ToLower(u.Hostname())
	labels := strings.Split(host, ".")
	within := func(domain string) bool { return strings.HasSuffix(host, "."+domain) }
	switch {
	case within("amazonaws.com"), within("amazonaws.com.cn"):
		return "aws", ""
	case within("googleapis.com") && slices.Contains(labels, "storage"): // also storage.REGION.rep.googleapis.com
		return "gcs", ""
	case within("r2.cloudflarestorage.com"):
		return "r2", ""
	case within("backblazeb2.com"):
		return "b2", regionOf(labels, "")
	case within("wasabisys.com"):
		return "wasabi", regionOf(labels, "us-east-1")
	case within("digitaloceanspaces.com"):
		return "spaces", ""
	case within("aliyuncs.com"):
		return "alibaba", ""
	case within("myqcloud.com"):
		return "tencent", ""
	case within("cloud-object-storage.appdomain.cloud"):
		return "ibm", ""
	}
	return "", ""
}

// regionOf is the label after "s3", unless that is the domain.
func regionOf(labels []string, otherwise string) string {
	if i := slices.Index(labels, "s3"); i >= 0 && i < len(labels)-3 {
		return labels[i+1]
	}
	return otherwise
}

// byServer knows the stores that anyone may run, by how they announce
// themselves. Not taken at their word: "cloudflare" (a proxy before any store),
// "AmazonS3" (clones say so), "SeaweedFS" (said by releases without checksums,
// and no longer by those that have them).
func byServer(server string) string {
	for prefix, name := range map[string]string{
		"minio": "minio", "versitygw": "versitygw", "ceph object gateway": "ceph", "uploadserver": "gcs",
	} {
		if strings.HasPrefix(strings.ToLower(server), prefix) {
			return name
		}
	}
	return "generic"
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
