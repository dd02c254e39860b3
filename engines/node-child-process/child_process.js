'use strict';
// What two Node programs use where one starts the other: child_process.fork() and process.send().
//
// ipcmark starts both ends itself, and a channel is between a parent and its child. So the initiator forks the responder's loops, on
// the CPU of the process that ipcmark started for them; that process passes on what ipcmark and the child say to each other, before
// and after what is timed. Its CPU time is not the child's.
//
// send=json, the default of fork(), has no bytes: they go as base64. send=advanced has.

const { fork } = require('child_process');
const fs = require('fs');
const net = require('net');
const path = require('path');
const { serve } = require('../node/ipcmark_engine');

function connect(file) {
  return new Promise((resolve) => {
    const socket = net.connect(file, () => resolve(socket.removeAllListeners('error')));
    socket.once('error', () => setTimeout(() => resolve(connect(file)), 1));
  });
}

// An end of the channel: `over` is the child, or the process itself in the child.
function channel(over, asked, close) {
  const json = asked.options.send === 'json';
  const came = [];
  let wake = null;
  over.on('message', (message) => {
    came.push(message);
    if (wake) wake();
  });
  return {
    send(message) {
      // A false says that much waits to be written.
      return over.send(json ? message.toString('base64') : message) ? undefined : new Promise(setImmediate);
    },
    async recv(size) {
      while (came.length === 0) {
        await new Promise((resolve) => { wake = resolve; });
        wake = null;
      }
      const message = json ? Buffer.from(came.shift(), 'base64') : Buffer.from(came.shift());
      if (message.length !== size) throw new Error(`a message of ${message.length} bytes came, and ${size} were due`);
      return message;
    },
    close,
  };
}

// The initiator: waits for the responder's process, forks on its CPUs, and connects both.
async function initiate(asked) {
  const socket = await new Promise((resolve) => {
    const server = net.createServer((one) => { server.close(); resolve(one); });
    server.listen(path.join(asked.folder, 's'));
  });
  const cpus = String(await new Promise((resolve) => socket.once('data', resolve)));
  const child = fork(__filename, [], {
    execPath: 'taskset',
    execArgv: ['-c', cpus, process.execPath],
    env: { ...process.env, IPCMARK_CHILD: '1' },
    serialization: asked.options.send,
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  });
  socket.pipe(child.stdin);
  child.stdout.pipe(socket);
  socket.on('close', () => child.kill());
  // What the child says last goes by this process.
  const closed = new Promise((resolve) => socket.once('finish', resolve));
  return channel(child, asked, () => closed);
}

// The responder's process: from here on ipcmark talks to the child. Never resolves.
async function respond(asked) {
  const socket = await connect(path.join(asked.folder, 's'));
  const [, cpus] = /^Cpus_allowed_list:\s*(\S+)/m.exec(fs.readFileSync('/proc/self/status', 'utf8'));
  socket.write(cpus);
  let greeted = '';
  socket.on('data', (chunk) => {
    if (greeted !== null) {
      // Its `hello` was said already, by this process.
      greeted += chunk;
      const at = greeted.indexOf('\n');
      if (at < 0) return;
      chunk = greeted.slice(at + 1);
      greeted = null;
      const options = Object.entries(asked.options).map(([key, value]) => ` opt.${key}=${value}`).join('');
      socket.write(`open role=responder bytes=${asked.bytes} samples=/dev/null${options}\n`);
      process.stdin.on('data', (line) => socket.write(line));
    }
    if (chunk.length > 0) fs.writeSync(1, chunk);
  });
  socket.on('close', () => process.exit(0));
  return new Promise(() => {});
}

function open(asked) {
  if (process.env.IPCMARK_CHILD) {
    process.on('disconnect', () => process.exit(1));
    return channel(process, asked, () => {});
  }
  return asked.role === 'initiator' ? initiate(asked) : respond(asked);
}

serve(open, {
  name: 'node-child-process',
  version: process.versions.node,
  summary: 'child_process.fork() and process.send()',
  licence: 'MIT',
  options: 'send=json|advanced',
  framing: 'messages',
  warmup_ms: 300,
});
