'use strict';
// What two Node programs use: a stream of the net module over a Unix socket.

const fs = require('fs');
const net = require('net');
const path = require('path');
const { serve } = require('./ipcmark_engine');

function connect(file) {
  return new Promise((resolve) => {
    const socket = net.connect(file, () => resolve(socket));
    socket.once('error', () => setTimeout(() => resolve(connect(file)), 1));
  });
}

function listen(file) {
  return new Promise((resolve) => {
    const server = net.createServer((socket) => {
      server.close();
      resolve(socket);
    });
    server.listen(file);
  });
}

async function open(asked) {
  const file = path.join(asked.folder, 's');
  const socket = await (asked.role === 'responder' ? listen(file) : connect(file));
  let came = [];
  let length = 0;
  let wake = null;
  socket.removeAllListeners('error');
  socket.on('data', (chunk) => {
    came.push(chunk);
    length += chunk.length;
    if (wake) wake();
  });
  return {
    send(message) {
      if (socket.write(message)) return undefined;
      return new Promise((resolve) => socket.once('drain', resolve));
    },
    async recv(size) {
      while (length < size) {
        await new Promise((resolve) => { wake = resolve; });
        wake = null;
      }
      const all = came.length === 1 ? came[0] : Buffer.concat(came);
      length -= size;
      came = length > 0 ? [all.subarray(size)] : [];
      return all.subarray(0, size);
    },
    close() {
      socket.destroy();
    },
  };
}

serve(open, {
  name: 'node-unix-socket',
  version: process.versions.node,
  summary: 'net.Socket over a Unix socket',
  licence: 'MIT',
  warmup_ms: 300,
});
