package sandbox_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/chunkup/chunkup/cmd/chunkup/sandbox"
)

func ExampleStart() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	s, err := sandbox.Start(ctx, sandbox.Options{Dir: dir, Buckets: []string{"demo"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	client := s3.New(s3.Options{
		Region:       s.Region(),
		BaseEndpoint: aws.String(s.URL()),
		Credentials:  credentials.NewStaticCredentialsProvider(s.AccessKey(), s.SecretKey(), ""),
	})
	_, err = client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String("demo"), Key: aws.String("greeting"), Body: strings.NewReader("hello"),
	})
	if err != nil {
		log.Fatal(err)
	}
	object, err := os.ReadFile(filepath.Join(dir, "demo", "greeting"))
	fmt.Println(string(object), err)
	// Output: hello <nil>
}

func ExampleServer_Environment() {
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	s, err := sandbox.Start(context.Background(), sandbox.Options{Dir: dir, AccessKey: "me", SecretKey: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, line := range s.Environment()[:4] {
		fmt.Println("export", line)
	}
	// Output:
	// export AWS_ACCESS_KEY_ID=me
	// export AWS_SECRET_ACCESS_KEY=secret
	// export AWS_SESSION_TOKEN=
	// export AWS_REGION=us-east-1
}
