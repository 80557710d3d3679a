// GET /qrcode with net/http: go run server.go RUNG.go ADDRESS uses the draw of RUNG.go
package main

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var visible = regexp.MustCompile(`^[!-~]{1,128}$`)

func readText(query string) (string, error) {
	var values []string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(name); err == nil && name == "text" {
			values = append(values, value)
		}
	}
	if strings.Join(values, "") == "" {
		return "", errors.New(`missing "text" query param`)
	}
	if len(values) > 1 {
		return "", errors.New("text must be given once")
	}
	text, err := url.QueryUnescape(values[0])
	if err != nil || !utf8.ValidString(text) {
		return "", errors.New("text must be valid UTF-8")
	}
	if len(text) > 512 {
		return "", errors.New("text must be <= 512 bytes")
	}
	return text, nil
}

func serve(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Request-Id")
	if !visible.MatchString(id) {
		id = rand.Text()
	}
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	text, err := readText(r.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	tag := fmt.Sprintf(`"%.16x"`, sha256.Sum256([]byte(text)))
	w.Header().Set("Cache-Control", "public, max-age=86400")
	w.Header().Set("ETag", tag)
	if asked := r.Header.Get("If-None-Match"); asked == "*" || strings.Contains(asked, tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	png, err := draw(text)
	if err != nil {
		log.Print(err)
		refuse(w, http.StatusInternalServerError, "failed generating QR code")
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", strconv.Itoa(len(png)))
	w.Write(png)
}

func refuse(w http.ResponseWriter, status int, problem string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(problem)))
	w.WriteHeader(status)
	w.Write([]byte(problem))
}

func main() {
	http.HandleFunc("/qrcode", serve)
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
