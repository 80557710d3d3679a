// The new side of the example: answers GET /report?year=2024 like old.py, in Go.
//
//	go run examples/report/new.go [-leap-years] PORT
//
// Without -leap-years, February always has 28 days: a mistake for the judge to find.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

const firstYear, lastYear = 1900, 2100

var leapYears = flag.Bool("leap-years", false, "give leap years their February 29")

// Month is a line of the report.
type Month struct {
	BestDay      int   `json:"best_day"`
	Days         int   `json:"days"`
	Month        int   `json:"month"`
	Orders       int   `json:"orders"`
	RevenueCents int64 `json:"revenue_cents"`
}

// Report is the answer.
type Report struct {
	GeneratedAt       time.Time `json:"generated_at"`
	Months            []Month   `json:"months"`
	TotalDays         int       `json:"total_days"`
	TotalRevenueCents int64     `json:"total_revenue_cents"`
	Year              int       `json:"year"`
}

// daysIn returns the number of days in a month.
func daysIn(year, month int) int {
	days := [12]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	isLeap := year%4 == 0 && (year%100 != 0 || year%400 == 0)
	if *leapYears && month == 2 && isLeap {
		days++
	}
	return days
}

// ordersOf returns the number of a day's orders and their sum in cents.
func ordersOf(year, month, day int) (count int, cents int64) {
	state := int64(year*10_000 + month*100 + day)
	count = 5 + int(state%6)
	for range count {
		state = (state*1_103_515_245 + 12_345) % (1 << 31)
		cents += 100 + state/(1<<11)%50_000
	}
	return count, cents
}

func reportOf(year int) Report {
	report := Report{GeneratedAt: time.Now().UTC(), Year: year}
	for number := 1; number <= 12; number++ {
		month := Month{Month: number, Days: daysIn(year, number), BestDay: 1}
		var best int64
		for day := 1; day <= month.Days; day++ {
			count, cents := ordersOf(year, number, day)
			month.Orders += count
			month.RevenueCents += cents
			if cents > best {
				best, month.BestDay = cents, day
			}
		}
		report.TotalDays += month.Days
		report.TotalRevenueCents += month.RevenueCents
		report.Months = append(report.Months, month)
	}
	return report
}

var isNumber = regexp.MustCompile(`^[0-9]+$`)

func serveReport(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("year")
	year, err := strconv.Atoi(text)
	if !isNumber.MatchString(text) || err != nil || year < firstYear || year > lastYear {
		problem := fmt.Sprintf("year must be %d to %d", firstYear, lastYear)
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": problem})
		return
	}
	answerJSON(w, http.StatusOK, reportOf(year))
}

func answerJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Print(err)
	}
}

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: new.go [-leap-years] PORT")
		os.Exit(2)
	}
	http.HandleFunc("/report", serveReport)
	listener, err := net.Listen("tcp", "127.0.0.1:"+flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("new.go serves http://127.0.0.1:%s/report?year=2024\n", flag.Arg(0))
	log.Fatal(http.Serve(listener, nil))
}
