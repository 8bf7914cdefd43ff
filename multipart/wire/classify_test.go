package wire

import (
	"fmt"
	"io"
	"testing"
	"time"
)

func TestClassifyStatus(t *testing.T) {
	for class, statuses := range map[Class][]int{
		Done:     {200, 204, 299},
		Retry:    {408, 417, 425, 499, 500, 502, 504, 520, 522, 524, 530},
		Throttle: {429, 503},
		Remint:   {401},
		Redirect: {300, 301, 302, 303, 307, 308},
		Fatal:    {400, 402, 403, 404, 405, 409, 411, 412, 413, 414, 416, 501, 505, 507, 511, 531, 600, 99, 101, -1},
	} {
		for _, s := range statuses {
			if got := Classify(Outcome{Op: PutPart, Status: s}); got != class {
				t.Errorf("%d: %v, want %v", s, got, class)
			}
		}
	}
}

func TestClassify(t *testing.T) {
	cases := map[string]struct {
		outcome Outcome
		want    Class
	}{
		"nothing":                        {Outcome{}, Unknown},
		"part without ETag":              {Outcome{Op: PutPart, Status: 200, Bare: true}, Retry},
		"part with an error inside":      {Outcome{Op: PutPart, Status: 200, Code: "Whatever"}, Retry},
		"part with a final one":          {Outcome{Op: PutPart, Status: 200, Code: "NoSuchBucket"}, Fatal},
		"part whose answer is cut":       {Outcome{Op: PutPart, Status: 200, Err: io.ErrUnexpectedEOF}, Retry},
		"completed without ETag":         {Outcome{Op: Complete, Status: 200, Bare: true}, Ambiguous},
		"completed with an error inside": {Outcome{Op: Complete, Status: 200, Code: "Whatever"}, Ambiguous},
		"completed, answer cut":          {Outcome{Op: Complete, Status: 200, Err: io.ErrUnexpectedEOF}, Ambiguous},
		"created without an id":          {Outcome{Op: Create, Status: 200, Bare: true}, Retry},

		"the clock alone":                   {Outcome{Op: PutPart, Status: 404, Expired: true}, Fatal},
		"the clock does not hide a code":    {Outcome{Op: PutPart, Status: 400, Code: "BadDigest", Expired: true}, Reread},
		"the clock explains no other code":  {Outcome{Op: PutPart, Status: 400, Code: "NeverSeen", Expired: true}, Remint},
		"renewed, and the new one was late": {Outcome{Op: PutPart, Status: 403, Code: "SignatureDoesNotMatch", Expired: true, Renewed: true}, Remint},
		"a page that says expired":          {Outcome{Op: PutPart, Status: 403, Message: "your session has expired"}, Fatal},
	}
	for name, tc := range cases {
		if got := Classify(tc.outcome); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestNames(t *testing.T) {
	if s := fmt.Sprint(Unknown, Done, Retry, Throttle, Remint, Redirect, Ambiguous, Reread, Restart, Fatal, Class(200)); s !=
		"unknown done retry throttle remint redirect ambiguous reread restart fatal fatal" {
		t.Error(s)
	}
	if s := fmt.Sprint([]Operation{PutPart, PutObject, Create, List, Complete, Abort, Head, ListUploads, ReadRange, 0}); s !=
		"[upload part put object create upload list parts complete upload abort upload head object list uploads read object request]" {
		t.Error(s)
	}
}

func TestDeadlineError(t *testing.T) {
	for phase, want := range map[Phase]string{
		PhaseConnect: "no connection within 1s",
		PhaseSend:    "too slow: 3 of 9 bytes sent within 1s",
		PhaseStall:   "stalled: no byte accepted for 1s (3 of 9 bytes sent)",
		PhaseAnswer:  "no answer within 1s of the last byte",
		PhaseRead:    "answer not complete within 1s of its status line",
	} {
		e := &DeadlineError{Phase: phase, Limit: time.Second, Sent: 3, Size: 9}
		if e.Error() != want || !e.Timeout() || e.Slow() != (phase == PhaseSend) {
			t.Errorf("%v: %q, slow %v", phase, e, e.Slow())
		}
	}
}
