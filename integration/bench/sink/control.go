package sink

import (
	"encoding/json"
	"net/http"
	"time"
)

// Control serves the counters and takes orders, in JSON:
//
//	GET  /counters                      Counters
//	POST /reset                         as Reset
//	POST /outage?for=20s&silent=true    as BeginOutage
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Counters()) // a client that has gone does not want it
	})
	mux.HandleFunc("POST /reset", func(http.ResponseWriter, *http.Request) { s.Reset() })
	mux.HandleFunc("POST /outage", func(w http.ResponseWriter, r *http.Request) {
		length, err := time.ParseDuration(r.FormValue("for"))
		if err != nil || length <= 0 {
			http.Error(w, "how long is it? for=20s", http.StatusBadRequest)
			return
		}
		s.BeginOutage(Outage{For: length, Silent: r.FormValue("silent") == "true"})
	})
	return mux
}
