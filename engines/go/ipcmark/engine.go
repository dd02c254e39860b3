// Package ipcmark is an engine of ipcmark in Go: you write how messages are sent and received, this package does the rest.
// docs/ENGINES.md has the protocol. No dependency; CC0.
package ipcmark

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// End is what you write: both roles are opened at once.
type End interface {
	Send(message []byte) error
	// Recv fills message.
	Recv(message []byte) error
	Close() error
}

// Asked is what an end is opened for.
type Asked struct {
	Role    string // "initiator" or "responder"
	Bytes   int
	Folder  string // the launch's own, empty
	Name    string // the launch's own
	Options map[string]string
}

var began, base = anchor()

// anchor pairs CLOCK_MONOTONIC with Go's own reading of it, which needs no call into the kernel: the closest pair of several.
func anchor() (at time.Time, base int64) {
	const clockMonotonic = 1
	least := time.Hour
	for try := 0; try < 20; try++ {
		var now syscall.Timespec
		before := time.Now()
		syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
		if took := time.Since(before); took < least {
			least, at, base = took, before, now.Nano()-int64(took)/2
		}
	}
	return at, base
}

func nowNs() int64 { return base + int64(time.Since(began)) }

func say(word string, fields map[string]string) {
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	line := word
	for _, key := range keys {
		line += " " + key + "=" + strings.ReplaceAll(url.PathEscape(fields[key]), "%7C", "|")
	}
	fmt.Println(line)
}

func number(text string) int { n, _ := strconv.Atoi(text); return n }

func check(err error) {
	if err != nil {
		say("failed", map[string]string{"reason": err.Error()})
		os.Exit(1)
	}
}

// Serve does what ipcmark asks for on standard input, until that ends. What about says of the engine: name, version, summary,
// licence, options ("wait=sleep|spin"), framing ("messages"), waits ("spins"), largest.
func Serve(open func(Asked) (End, error), about map[string]string) {
	hello := map[string]string{"protocol": "1", "null": "yes", "language": "Go " + strings.TrimPrefix(runtime.Version(), "go")}
	for key, value := range about {
		hello[key] = value
	}
	say("hello", hello)
	var end side
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		asked := map[string]string{}
		for _, pair := range words[1:] {
			key, value, _ := strings.Cut(pair, "=")
			asked[key], _ = url.PathUnescape(value)
		}
		switch words[0] {
		case "open":
			options := map[string]string{}
			for key, value := range asked {
				if name, found := strings.CutPrefix(key, "opt."); found {
					options[name] = value
				}
			}
			size := number(asked["bytes"])
			own, err := open(Asked{asked["role"], size, asked["folder"], asked["name"], options})
			check(err)
			samples, err := os.OpenFile(asked["samples"], os.O_RDWR, 0)
			check(err)
			end = side{own, asked["role"] == "initiator", make([]byte, size), make([]byte, size), samples}
			say("opened", nil)
		case "verify":
			sum := end.verify(number(asked["count"]), uint32(number(asked["seed"])))
			say("verified", map[string]string{"sum": fmt.Sprint(sum)})
		case "exchange":
			samples, batch := number(asked["samples"]), number(asked["batch"])
			began, ended := end.exchange(asked["workload"], samples, batch)
			say("exchanged", map[string]string{
				"begun_ns": fmt.Sprint(began), "ended_ns": fmt.Sprint(ended), "operations": fmt.Sprint(samples * batch)})
		case "close":
			check(end.own.Close())
			say("closed", nil)
			return
		}
	}
}

type side struct {
	own       End
	initiates bool
	out, in   []byte
	samples   *os.File
}

type nothing struct{ End }

func (nothing) Send([]byte) error { return nil }
func (nothing) Recv([]byte) error { return nil }

// verify sends messages that a seed makes, and gives the sum of those that came.
func (s side) verify(count int, seed uint32) uint32 {
	total := uint32(0x811C9DC5)
	made := make([]byte, len(s.out))
	for ; count > 0; count-- {
		for at := range made {
			seed = seed*1664525 + 1013904223
			made[at] = byte(seed >> 24)
		}
		if s.initiates {
			check(s.own.Send(made))
		}
		check(s.own.Recv(s.in))
		if !s.initiates {
			check(s.own.Send(made))
		}
		for _, came := range s.in {
			total = (total ^ uint32(came)) * 16777619
		}
	}
	return total
}

// exchange does samples * batch operations, and says when it began and ended; a null is a latency without a mechanism.
func (s side) exchange(workload string, samples, batch int) (int64, int64) {
	if workload == "null" {
		s.own, workload = nothing{}, "latency"
	}
	var taken []byte
	if s.initiates {
		taken = make([]byte, 8*samples)
	}
	began := nowNs()
	before := began
	for nth := 0; nth < samples; nth++ {
		for each := 0; each < batch; each++ {
			if s.initiates {
				check(s.own.Send(s.out))
			}
			if workload == "latency" || !s.initiates {
				check(s.own.Recv(s.in))
			}
			if !s.initiates && workload == "latency" {
				check(s.own.Send(s.in))
			}
		}
		if workload != "latency" && s.initiates {
			check(s.own.Recv(s.in[:1]))
		} else if workload != "latency" {
			check(s.own.Send([]byte{0xAC}))
		}
		if s.initiates {
			now := nowNs()
			binary.LittleEndian.PutUint64(taken[8*nth:], uint64(now-before))
			before = now
		}
	}
	if s.initiates {
		_, err := s.samples.WriteAt(taken, 0)
		check(err)
		return began, before
	}
	return began, nowNs()
}
