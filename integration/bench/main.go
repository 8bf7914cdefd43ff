package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/chunkup/chunkup/integration/bench/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "sink":
			return serveSink(ctx, args[1:], os.Stdin, os.Stdout)
		case "peer":
			return peer.Run(ctx, args[1:])
		case "cell":
			return runCell(ctx, os.Stdout)
		}
	}
	return bench(ctx, args)
}

// bench measures rows.
func bench(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	names := f.String("row", "", "rows to measure, separated by commas, as tls,http,files-*; all when not given")
	n := f.Int("n", 5, "repetitions")
	scale := f.Float64("scale", 1, "of the sizes and counts; the figures of anything but 1 are for a look")
	dir := f.String("dir", "", "folder for what is temporary; the system's when not given")
	write := f.Bool("write", false, "write docs/benchmarks.md and its figure")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *write && *scale != 1 {
		return errors.New("-write wants the real sizes: without -scale")
	}
	chosen, err := choose(rows(), *names)
	if err != nil {
		return err
	}
	l, err := newLab(ctx, *dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.ready(chosen); err != nil {
		return err
	}
	var all []outcome
	for _, r := range chosen {
		r = r.scaled(*scale)
		s := series{lab: l, row: r, n: *n, say: os.Stderr}
		if r.most > 0 {
			s.n = min(s.n, r.most)
		}
		o, err := s.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		all = append(all, o)
		if *write { // after each: three hours are long
			if err := writeDocs(l.root, all); err != nil {
				return err
			}
		}
	}
	fmt.Print(generated(all))
	return nil
}
