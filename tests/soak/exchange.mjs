// HTTP without any limit on time: fetch() gives up after five minutes, and a busy machine is no fault of the server.
import { request } from 'node:http';

// The answer as text. `signal` ends it early.
export function exchange(server, path, { method = 'GET', body, signal } = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(server.url + path, { method, signal, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece) => (text += piece)).on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    sent.on('error', reject).end(body);
  });
}

export async function post(server, path, body) {
  const bytes = typeof body === 'string' ? body : JSON.stringify(body);
  const { status, text } = await exchange(server, path, { method: 'POST', body: bytes });
  return { status, json: JSON.parse(text) };
}

// Reads `pieces` pieces of a stream, and leaves.
export function leaveStream(server, path, body, pieces) {
  return new Promise((resolve, reject) => {
    let left = pieces;
    const sent = request(server.url + path, { method: 'POST', agent: false }, (response) => {
      response.on('data', () => left-- <= 0 && sent.destroy()).on('error', () => {}).on('close', resolve);
    });
    sent.on('error', (error) => (left < 0 ? resolve() : reject(error))).end(JSON.stringify(body));
  });
}
