package mint_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/chunkup/chunkup/multipart/storetest"
	"github.com/chunkup/chunkup/multipart/wire"
	"github.com/chunkup/chunkup/presign/mint"
)

// A service in front of a store, here one in memory, and the first call of an upload. In
// earnest Control is an s3store.Store and Provider an s3presign.Presigner.
func ExampleNewHandler() {
	store := storetest.NewMem(wire.Limits{})
	defer store.Close()
	handler, err := mint.NewHandler(mint.Options{
		Control:      store,
		Provider:     store,
		Bucket:       "photos",
		Authenticate: mint.Bearer(map[string]mint.Caller{"s3cret": {Name: "laptop", Prefix: "laptop/"}}),
		MaxSize:      1 << 30,
		Origins:      []string{"https://photos.example"},
	})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	for _, token := range []string{"guess", "s3cret"} {
		r, err := http.NewRequest("POST", server.URL+"/s3/multipart", strings.NewReader(`{"filename":"cat.jpg","key":"laptop/cat.jpg","type":"image/jpeg"}`))
		if err != nil {
			log.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode, strings.Contains(string(body), `"key":"laptop/cat.jpg"`))
	}
	// Output:
	// 401 false
	// 200 true
}
