import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { askBrowser } from "../../logins/browser-identity.ts";

/** An issuer that counts how often it is asked for its metadata. */
async function serveIssuer() {
  const issuer = { isThere: true, asked: 0, url: "" };
  const server = createServer((_, response) => {
    issuer.asked++;
    response.writeHead(issuer.isThere ? 200 : 503, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ issuer: issuer.url, authorization_endpoint: `${issuer.url}/authorize` }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}

const client = (issuer: string) => ({
  ...{ issuer, clientId: "ptc", clientSecret: undefined, scopes: [], subject: "sub" },
});

test("an issuer is asked for its metadata once, however many logins begin", async () => {
  const issuer = await serveIssuer();
  const begin = () => askBrowser(client(issuer.url), "http://localhost/callback");
  const begun = await Promise.all([begin(), begin(), begin()]);
  expect(new Set(begun.map(({ asked }) => asked.state)).size).toBe(3);
  await begin();
  expect(issuer.asked).toBe(1);
});

test("an issuer that does not answer is left alone for a while", async () => {
  const issuer = await serveIssuer();
  issuer.isThere = false;
  for (let i = 0; i < 5; i++)
    await expect(askBrowser(client(issuer.url), "http://localhost/callback")).rejects.toThrow(
      "cannot be asked who you are",
    );
  expect(issuer.asked).toBe(1);
});
