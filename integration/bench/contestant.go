package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// job is one upload that a contestant is to do.
type job struct {
	store       *store
	source      string
	dir         bool
	key         string // for a folder a prefix that ends in a slash
	home        string // an empty folder
	part        int64  // MiB; 0: the contestant's own
	concurrency int    // 0: the contestant's own
}

func (j job) dest() string { return "s3://" + bucket + "/" + j.key }

// contestant is a program with its settings.
type contestant struct {
	name    string
	ours    bool
	program func(*lab) string // empty: it is not on this machine
	args    func(job) []string
	env     func(job) []string // nil: nothing but what everybody gets
}

func self(l *lab) string { return l.self }

func peerNamed(name string) func(*lab) string {
	return func(l *lab) string { return l.peers[name] }
}

// contestants are all, with their own defaults but for what the job says.
func contestants() []contestant {
	return []contestant{
		{name: "chunkup", ours: true, program: func(l *lab) string { return l.chunkup }, args: chunkupArgs},
		{name: "manager", program: self, args: func(j job) []string { return sdkArgs("manager", j) }},
		{name: "transfermanager", program: self, args: func(j job) []string { return sdkArgs("transfermanager", j) }},
		{name: "s5cmd", program: peerNamed("s5cmd"), args: func(j job) []string { return s5cmdArgs(j, nil) }},
		{name: "rclone", program: peerNamed("rclone"), args: func(j job) []string { return rcloneArgs(j, nil) }, env: rcloneEnv},
		{name: "mc", program: peerNamed("mc"), args: func(j job) []string { return mcArgs(j, nil) }, env: mcEnv},
		{name: "mc --checksum", program: peerNamed("mc"), args: func(j job) []string { return mcArgs(j, []string{"--checksum", "CRC64NVME"}) }, env: mcEnv},
		{name: "aws", program: peerNamed("aws"), args: awsArgs, env: awsEnv},
	}
}

// tuned are peers with so many small files at once, and without the questions that
// can be left out.
func tuned(atOnce int) []contestant {
	n := strconv.Itoa(atOnce)
	sdk := func(name string) func(job) []string {
		return func(j job) []string {
			return append([]string{"peer", name, "-files", n}, j.source, j.dest())
		}
	}
	best := []string{"--transfers", n, "--checkers", n, "--s3-no-check-bucket", "--s3-no-head", "--no-check-dest"}
	return []contestant{
		{name: "manager, " + n + " files", program: self, args: sdk("manager")},
		{name: "transfermanager, " + n + " files", program: self, args: sdk("transfermanager")},
		{name: "s5cmd, " + n + " workers", program: peerNamed("s5cmd"), args: func(j job) []string { return s5cmdArgs(j, []string{"--numworkers", n}) }},
		{name: "rclone, " + n + " transfers", program: peerNamed("rclone"), args: func(j job) []string { return rcloneArgs(j, best) }, env: rcloneEnv},
	}
}

func chunkupArgs(j job) []string {
	args := []string{"cp", "--quiet"}
	if j.dir {
		args = append(args, "-r")
	}
	if j.part > 0 {
		args = append(args, "--part-size", fmt.Sprintf("%dMiB", j.part))
	}
	if j.concurrency > 0 {
		args = append(args, "--concurrency", strconv.Itoa(j.concurrency))
	}
	return append(args, j.source, j.dest())
}

func sdkArgs(name string, j job) []string {
	return []string{"peer", name, "-part-size", strconv.FormatInt(j.part<<20, 10), "-concurrency", strconv.Itoa(j.concurrency), j.source, j.dest()}
}

func s5cmdArgs(j job, global []string) []string {
	args := append(global, "--log", "error", "--endpoint-url", j.store.url, "cp") // like the others, no line a file
	if j.part > 0 {
		args = append(args, "--part-size", strconv.FormatInt(j.part, 10))
	}
	if j.concurrency > 0 {
		args = append(args, "--concurrency", strconv.Itoa(j.concurrency))
	}
	if j.dir {
		return append(args, j.source+"/", j.dest())
	}
	return append(args, j.source, j.dest())
}

func rcloneArgs(j job, more []string) []string {
	verb := "copyto"
	if j.dir {
		verb = "copy"
	}
	args := []string{verb, j.source, "bench:" + bucket + "/" + j.key}
	if j.store.ca != "" {
		args = append(args, "--ca-cert", j.store.ca)
	}
	if j.part > 0 {
		args = append(args, "--s3-chunk-size", fmt.Sprintf("%dMi", j.part))
	}
	if j.concurrency > 0 {
		args = append(args, "--s3-upload-concurrency", strconv.Itoa(j.concurrency))
	}
	return append(args, more...)
}

func rcloneEnv(j job) []string {
	const remote = "RCLONE_CONFIG_BENCH_"
	return []string{remote + "TYPE=s3", remote + "PROVIDER=Minio", remote + "ENV_AUTH=true", remote + "ENDPOINT=" + j.store.url, remote + "REGION=" + region}
}

// mcArgs use mc put, which takes part size and concurrency, only where they are given.
func mcArgs(j job, more []string) []string {
	args := []string{"--quiet", "cp"}
	if j.part > 0 || j.concurrency > 0 {
		args = []string{"--quiet", "put", "--part-size", fmt.Sprintf("%dMiB", j.part), "--parallel", strconv.Itoa(j.concurrency)}
	}
	args = append(args, more...)
	if j.dir {
		return append(args, "--recursive", j.source+"/", "bench/"+bucket+"/"+j.key)
	}
	return append(args, j.source, "bench/"+bucket+"/"+j.key)
}

func mcEnv(j job) []string {
	env := []string{"MC_HOST_bench=" + strings.Replace(j.store.url, "://", "://"+accessKey+":"+secretKey+"@", 1)}
	if j.store.ca != "" {
		env = append(env, "SSL_CERT_FILE="+j.store.ca)
	}
	return env
}

func awsArgs(j job) []string {
	// The variable for it is known from 2.13 on only.
	args := []string{"--endpoint-url", j.store.url, "s3", "cp", "--only-show-errors", j.source, j.dest()}
	if j.dir {
		args = append(args, "--recursive")
	}
	return args
}

// awsEnv also writes the file in which the settings have to be.
func awsEnv(j job) []string {
	config := filepath.Join(j.home, "aws-config")
	text := "[default]\nregion = " + region + "\n"
	if j.part > 0 || j.concurrency > 0 {
		text += fmt.Sprintf("s3 =\n  multipart_chunksize = %dMB\n  max_concurrent_requests = %d\n", j.part, j.concurrency)
	}
	_ = os.WriteFile(config, []byte(text), 0o600) // without it the defaults are used, and aws says that it is not there
	return []string{"AWS_CONFIG_FILE=" + config}
}

// environment is what every contestant gets: nothing of the caller's but the PATH.
func environment(j job) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + j.home, "TMPDIR=" + j.home, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey, "AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region,
		"AWS_ENDPOINT_URL=" + j.store.url, "NO_PROXY=*"}
	if j.store.ca != "" {
		env = append(env, "AWS_CA_BUNDLE="+j.store.ca)
	}
	return env
}
