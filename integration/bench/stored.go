package main

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// stored asks a store for the bytes that are in its bucket.
func (s *store) stored(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	web, err := s.web()
	if err != nil {
		return 0, err
	}
	defer web.CloseIdleConnections()
	var total int64
	pages := s3.NewListObjectsV2Paginator(s.client(web), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		for _, o := range page.Contents {
			total += aws.ToInt64(o.Size)
		}
	}
	return total, nil
}

func (s *store) client(web *http.Client) *s3.Client {
	return s3.New(s3.Options{Region: region, BaseEndpoint: &s.url, UsePathStyle: true, HTTPClient: web,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, "")})
}
