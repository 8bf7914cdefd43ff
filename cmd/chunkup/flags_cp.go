package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chunkup/chunkup/chunker"
	"github.com/chunkup/chunkup/multipart/s3store"
)

// cpFlags are the flags of cp.
type cpFlags struct {
	store  storeFlags
	from   sourceFlags
	object objectFlags
	tuning tuningFlags
	state  stateFlags
	output outputFlags

	given *pflag.FlagSet // all of them, once they are read
}

// storeFlags say which store and how to speak to it.
type storeFlags struct {
	endpointURL string // empty: the SDK's
	region      string
	profile     string
	noVerifySSL bool
	caBundle    string
	provider    string // empty: detected
	addressing  string
	checksum    *chunker.Algorithm // nil: the profile's
	sandboxDir  string             // of sandbox://
	mint        mintURLFlags       // url empty: there are credentials here
}

// outputFlags say what the user wants to see.
type outputFlags struct {
	json, quiet, noProgress, verbose, dryRun bool
}

// defaultSandboxDir is the folder of the store of sandbox://.
const defaultSandboxDir = "./chunkup-sandbox"

// group is a set of flags under one title in --help.
type group struct {
	title string
	set   *pflag.FlagSet
}

// define adds the flags to cmd and returns them by group.
func (f *cpFlags) define(cmd *cobra.Command) []group {
	f.given = cmd.Flags()
	return f.groups(cmd.Flags())
}

// groups adds the flags to all and returns them by group, the store's first.
func (f *cpFlags) groups(all *pflag.FlagSet) []group {
	groups := grouped(all, []titled{
		{"Store", f.store.define},
		{"Minting service", f.store.mint.define},
		{"Sources", f.from.define},
		{"Object", f.object.define},
		{"Parts", f.tuning.parts},
		{"Deadlines", f.tuning.deadlines},
		{"Retries", f.tuning.retries},
		{"State", f.state.define},
		{"Output", f.output.define},
	})
	all.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "dryrun" {
			name = "dry-run"
		}
		return pflag.NormalizedName(name)
	})
	return groups
}

// titled defines the flags of one group.
type titled struct {
	title  string
	define func(*pflag.FlagSet)
}

// grouped adds the groups to all.
func grouped(all *pflag.FlagSet, list []titled) []group {
	var groups []group
	for _, g := range list {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		g.define(set)
		all.AddFlagSet(set)
		groups = append(groups, group{g.title, set})
	}
	return groups
}

func (s *storeFlags) define(set *pflag.FlagSet) {
	define(set, &s.endpointURL, label{"endpoint-url", "", "", "URL", "the store's address, such as http://127.0.0.1:9000 (also AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL); AWS's when not given"}, parseEndpoint)
	define(set, &s.region, label{"region", "", "", "NAME", "region; the bucket's is asked for on AWS when not given"}, anyText)
	define(set, &s.profile, label{"profile", "", "", "NAME", "profile of the AWS files to take credentials from"}, anyText)
	set.BoolVar(&s.noVerifySSL, "no-verify-ssl", false, "do not verify the store's certificate")
	define(set, &s.caBundle, label{"ca-bundle", "", "", "FILE", "PEM certificates to verify the store with, in place of the system's"}, anyText)
	define(set, &s.provider, label{"provider", "", "", "NAME", "what the store is; detected from the endpoint when not given"}, oneOf(s3store.Names()...))
	define(set, &s.addressing, label{"addressing", "", "auto", "STYLE", "where the bucket's name goes: path, virtual (in the host name), or auto (by provider)"}, oneOf("auto", "path", "virtual"))
	define(set, &s.checksum, label{"checksum-algorithm", "", "auto", "NAME", "crc64nvme, crc32c, crc32, sha256, md5, none, or auto (by provider)"}, parseChecksum)
	define(set, &s.sandboxDir, label{"sandbox-dir", "", defaultSandboxDir, "DIR", "folder of the store of sandbox://"}, parsePath)
}

func (o *outputFlags) define(set *pflag.FlagSet) {
	set.BoolVar(&o.json, "json", false, "JSON lines on standard output, nothing else there")
	set.BoolVarP(&o.quiet, "quiet", "q", false, "errors only")
	set.BoolVar(&o.noProgress, "no-progress", false, "no bar")
	set.BoolVarP(&o.verbose, "verbose", "v", false, "one line per retry")
	set.BoolVarP(&o.dryRun, "dry-run", "n", false, "say what would be uploaded, send nothing (also --dryrun)")
}

// checkScheme refuses what cannot be said about the kind of store.
func (s *storeFlags) checkScheme(given *pflag.FlagSet, d destination) error {
	for _, name := range senseless(d.scheme, s.mint.url != "") {
		switch {
		case !given.Changed(name):
		case d.scheme == schemeSandbox:
			return usagef("--%s makes no sense with sandbox://, which brings its own store", name)
		case name == "sandbox-dir":
			return usagef("--%s makes no sense without sandbox://", name)
		case name == "mint-header":
			return usagef("--%s makes no sense without --mint-url", name)
		default:
			return usagef("--%s makes no sense with --mint-url (or %s), whose service knows the store", name, variable("mint-url"))
		}
	}
	return nil
}

// senseless are the flags that say nothing about the kind of store that a scheme
// stands for, or about the one behind a minting service.
func senseless(scheme string, minted bool) []string {
	own := []string{"endpoint-url", "region", "profile", "provider", "addressing"}
	switch {
	case scheme == schemeSandbox:
		return append(own, "no-verify-ssl", "ca-bundle", "mint-url", "mint-header")
	case minted:
		return append(own, "checksum-algorithm", "sandbox-dir")
	}
	return []string{"sandbox-dir", "mint-header"}
}

// parseChecksum returns nil for auto.
func parseChecksum(text string) (*chunker.Algorithm, error) {
	if text == "auto" {
		return nil, nil
	}
	a, err := chunker.ParseAlgorithm(text)
	return &a, err
}

// apply makes the profile what the flags want it to be.
func (s *storeFlags) apply(p *s3store.Profile) {
	if s.addressing != "auto" {
		p.PathStyle = s.addressing == "path"
	}
	if s.checksum == nil {
		return
	}
	// S3 has no other CRC64NVME than that of the whole object.
	p.Traits.FullObject = *s.checksum == chunker.CRC64NVME || p.Traits.FullObject && s.checksum.Combines()
	p.Traits.Algorithm = *s.checksum
}
