package faultproxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/chunkup/chunkup/integration/faultproxy"
)

// Every third part is refused once; the second try goes through.
func Example() {
	store := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer store.Close()
	proxy, err := faultproxy.Start(store.URL,
		faultproxy.Rule{Op: faultproxy.PutPart, Every: 3, Status: 503, Code: "SlowDown"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer proxy.Close()

	for _, part := range []int{1, 2, 3, 3} {
		url := fmt.Sprintf("%s/bucket/key?partNumber=%d&uploadId=u", proxy.URL(), part)
		req, err := http.NewRequest(http.MethodPut, url, strings.NewReader("data"))
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println("part", part, resp.StatusCode)
	}
	fmt.Println(proxy.Count(faultproxy.PutPart), "requests")
	// Output:
	// part 1 200
	// part 2 200
	// part 3 503
	// part 3 200
	// 4 requests
}
