import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';

import { post } from '../client.mjs';

test('a connection that was closed while it rested is no error of the request', async () => {
  // Answers the first request of each connection and hangs up on the second.
  let connections = 0;
  const listener = net.createServer((socket) => {
    ++connections;
    let requests = 0;
    socket.on('error', () => {});
    socket.on('data', () => {
      if (++requests > 1) return socket.destroy();
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n{}');
    });
  });
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const agent = new http.Agent({ keepAlive: true });
  const server = { name: 'test', port: listener.address().port, agent };
  assert.deepEqual((await post(server, '/', {})).json, {});
  assert.deepEqual((await post(server, '/', {})).json, {});
  assert.equal(connections, 2);
  agent.destroy();
  await new Promise((resolve) => listener.close(resolve));
});
