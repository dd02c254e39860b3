// gRPC between two Go programs, over a Unix socket. call=stream: one stream both ways, a message each. call=unary: a call is what
// the initiator sends and the answer that it receives; there is no throughput of it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"ipcmark.example/engines/ipcmark"
)

const service = "ipcmark.Engine"

type message = wrapperspb.BytesValue

type end struct {
	send  func(*message) error
	recv  func() (*message, error)
	close func()
}

func (e end) Send(from []byte) error { return e.send(&message{Value: from}) }

func (e end) Recv(into []byte) error {
	came, err := e.recv()
	if err != nil {
		return err
	}
	if len(came.Value) != len(into) {
		return fmt.Errorf("a message of %d bytes came, and %d were due", len(came.Value), len(into))
	}
	copy(into, came.Value)
	return nil
}

func (e end) Close() error {
	e.close()
	return nil
}

// A stream both ways, as either side has it.
type stream interface {
	SendMsg(any) error
	RecvMsg(any) error
}

func over(both stream, stop func()) end {
	recv := func() (*message, error) {
		came := new(message)
		return came, both.RecvMsg(came)
	}
	return end{func(m *message) error { return both.SendMsg(m) }, recv, stop}
}

// respond serves until the first stream or call comes. A call's handler waits for the answer.
func respond(socket string, unary bool) (ipcmark.End, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32))
	streams, calls, answers := make(chan stream), make(chan *message), make(chan *message)
	talk := func(_ any, both grpc.ServerStream) error {
		streams <- both
		<-both.Context().Done()
		return nil
	}
	call := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		came := new(message)
		if err := decode(came); err != nil {
			return nil, err
		}
		calls <- came
		return <-answers, nil
	}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: service,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Call", Handler: call}},
		Streams:     []grpc.StreamDesc{{StreamName: "Talk", Handler: talk, ServerStreams: true, ClientStreams: true}},
	}, struct{}{})
	go server.Serve(listener)
	answering := end{
		// The handler writes it after this returns: a copy.
		func(m *message) error { answers <- &message{Value: bytes.Clone(m.Value)}; return nil },
		func() (*message, error) { return <-calls, nil },
		server.Stop,
	}
	if !unary {
		answering = over(<-streams, server.Stop)
	}
	first := make([]byte, 1)
	if err := answering.Recv(first); err != nil {
		return nil, err
	}
	return answering, answering.Send(first)
}

func initiate(socket string, unary bool) (ipcmark.End, error) {
	for _, err := os.Stat(socket); err != nil; _, err = os.Stat(socket) {
		time.Sleep(time.Millisecond)
	}
	largest := grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32), grpc.WaitForReady(true))
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), largest)
	if err != nil {
		return nil, err
	}
	stop := func() { conn.Close() }
	var asking end
	if unary {
		var asked *message
		send := func(m *message) error {
			if asked != nil {
				return fmt.Errorf("a unary call has one message each way: call=stream has throughput")
			}
			asked = m
			return nil
		}
		recv := func() (*message, error) {
			answer := new(message)
			err := conn.Invoke(context.Background(), "/"+service+"/Call", asked, answer)
			asked = nil
			return answer, err
		}
		asking = end{send, recv, stop}
	} else {
		desc := &grpc.StreamDesc{StreamName: "Talk", ServerStreams: true, ClientStreams: true}
		both, err := conn.NewStream(context.Background(), desc, "/"+service+"/Talk")
		if err != nil {
			return nil, err
		}
		asking = over(both, stop)
	}
	first := make([]byte, 1)
	if err := asking.Send(first); err != nil {
		return nil, err
	}
	return asking, asking.Recv(first)
}

func open(asked ipcmark.Asked) (ipcmark.End, error) {
	socket := filepath.Join(asked.Folder, "s")
	unary := asked.Options["call"] == "unary"
	if asked.Role == "responder" {
		return respond(socket, unary)
	}
	return initiate(socket, unary)
}

func main() {
	ipcmark.Serve(open, map[string]string{
		"name":    "grpc-go",
		"version": grpc.Version,
		"summary": "gRPC over a Unix socket",
		"licence": "Apache-2.0",
		"options": "call=stream|unary",
		"framing": "messages",
	})
}
