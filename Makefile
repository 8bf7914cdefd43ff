# make test   everything a change must pass; the same command as CI's
# make full   the long tests as well
# make mutants  each rule switched off once: its test must fail
# make bench  chunkup beside its peers; takes three hours, on a machine that does nothing else
# make build  the command, in ./bin
# make page   the bundle of chunkup mint's web page, anew from its source

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Our files differ by system, not by processor: one build of each system says what
# there is to say.
PLATFORMS   := linux/amd64 darwin/arm64 windows/amd64
RELEASES    := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
FUZZTIME    ?= 30s

.PHONY: test full releases bench build page page-check lint fmt vet staticcheck cross tools unit fuzz long mutants

test: lint cross unit

full: test releases page-check fuzz long mutants

releases:
	@$(MAKE) --no-print-directory cross PLATFORMS="$(RELEASES)"

# BENCH='-row tls,http -n 3' measures less, BENCH=-write keeps it in docs/benchmarks.md.
bench:
	go run ./integration/bench $(BENCH)

build:
	go build -o bin/chunkup ./cmd/chunkup

PAGE := cmd/chunkup/page

# It needs npm, and the network. What it makes is committed.
page:
	rm -rf $(PAGE)/dist
	$(PAGE)/src/build $(PAGE)/dist

page-check:
	@out=$$(mktemp -d) && trap 'rm -rf "$$out"' EXIT && $(PAGE)/src/build "$$out" && \
		diff -rq "$$out" $(PAGE)/dist || { echo "the web page is not what its source gives: run make page"; exit 1; }

lint: fmt vet staticcheck

fmt:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "run gofmt -w on:"; echo "$$out"; exit 1; fi

# Without cgo, as the command and MinIO are built: one compilation does for all.
vet:
	CGO_ENABLED=0 go vet ./...

staticcheck:
	CGO_ENABLED=0 go run $(STATICCHECK) ./...

# The command pulls in the library, so that building it builds everything but
# the tests.
cross:
	@for p in $(PLATFORMS); do \
		echo "build $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./cmd/chunkup || exit 1; \
	done

# A C compiler, a browser, Node: installed on Debian, asked for elsewhere.
tools:
	@.ci/tools

unit: tools
	go test -race -timeout 15m ./...

# Each fuzz target for FUZZTIME.
fuzz:
	@for pkg in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

# The tests that take long: half an hour on a link of 40 kB/s, the whole storm.
long:
	go vet -tags full ./...
	go test -tags full -timeout 90m ./integration ./integration/storm

# One small patch a rule switches the rule off; the test that it names must fail.
mutants:
	go run ./integration/mutants
