/**
 * Pages on this machine for retry.py and web-to-database.ts: `node site.mjs [PORT]` prints its address.
 * `/stations` is a list; `/flaky` answers every third request, and is not there for the others.
 */
import { createServer } from "node:http";

const stations = Array.from({ length: 40 }, (_, i) => ({ name: `station ${i}`, bikes: i % 4 }));
let asked = 0;

const server = createServer(({ url }, response) => {
  const isThere = url === "/stations" || (url === "/flaky" && ++asked % 3 === 0);
  response.writeHead(isThere ? 200 : 503, { "content-type": "application/json" });
  response.end(JSON.stringify(url === "/stations" ? { stations } : { there: isThere }));
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const { port } = server.address();
  console.log(`http://127.0.0.1:${port}`);
});
