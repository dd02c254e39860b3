// What two Go programs use: a net.UnixConn.
package main

import (
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"ipcmark.example/engines/ipcmark"
)

type end struct{ net.Conn }

func (e end) Send(message []byte) error {
	_, err := e.Write(message)
	return err
}

func (e end) Recv(message []byte) error {
	_, err := io.ReadFull(e, message)
	return err
}

func open(asked ipcmark.Asked) (ipcmark.End, error) {
	path := filepath.Join(asked.Folder, "s")
	if asked.Role == "responder" {
		listener, err := net.Listen("unix", path)
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		conn, err := listener.Accept()
		return end{conn}, err
	}
	for {
		if conn, err := net.Dial("unix", path); err == nil {
			return end{conn}, nil
		}
		time.Sleep(time.Millisecond)
	}
}

func main() {
	ipcmark.Serve(open, map[string]string{
		"name":    "go-unix-socket",
		"version": strings.TrimPrefix(runtime.Version(), "go"),
		"summary": "net.UnixConn",
		"licence": "BSD-3-Clause",
	})
}
