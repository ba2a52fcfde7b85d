import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { listen } from "../upstream/mcp/upstream-http-servers.ts";

export const AUDIENCE = "https://ptc.example.com/mcp";

type Key = Awaited<ReturnType<typeof generateKeyPair>> & { kid: string; algorithm: string };

/** An issuer that signs what it is told to, and shows its public keys. */
export interface SigningIssuer {
  readonly issuer: string;
  /** How often its keys were fetched. */
  fetches(): number;
  /** Signs with another key from now on, and shows that one alone. */
  rotate(): Promise<void>;
  /** Has requests fail as long as it is true. */
  isDown: boolean;
  /** Signs the claims of somebody, with those of a token that counts, but for `claims`. */
  sign(
    claims?: JWTPayload,
    how?: { header?: Record<string, unknown>; key?: Key["privateKey"] },
  ): Promise<string>;
}

let made = 0;

async function newKey(algorithm: string): Promise<Key> {
  return { ...(await generateKeyPair(algorithm, { extractable: true })), kid: `key-${++made}`, algorithm };
}

/** Serves the keys of an issuer on the loopback, until the test is over. */
export async function serveSigningIssuer(algorithm = "ES256"): Promise<SigningIssuer> {
  let key = await newKey(algorithm);
  let fetched = 0;
  const issuer = await listen((request, response) => {
    if (self.isDown) return void response.writeHead(500).end("down");
    response.setHeader("Content-Type", "application/json");
    if (request.url === "/.well-known/openid-configuration")
      return void response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }));
    if (request.url !== "/keys") return void response.writeHead(404).end("{}");
    fetched++;
    void exportJWK(key.publicKey).then((jwk) =>
      response.end(JSON.stringify({ keys: [{ ...jwk, kid: key.kid, alg: key.algorithm, use: "sig" }] })),
    );
  });
  const self: SigningIssuer = {
    issuer,
    fetches: () => fetched,
    isDown: false,
    async rotate() {
      key = await newKey(algorithm);
    },
    async sign(claims = {}, { header = {}, key: signer = key.privateKey } = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const usual = { iss: issuer, aud: AUDIENCE, sub: "ada", exp: now + 600, scope: "ptc:run" };
      const payload = Object.fromEntries(
        Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined),
      );
      return new SignJWT(payload)
        .setProtectedHeader({ alg: key.algorithm, kid: key.kid, ...header } as never)
        .sign(signer);
    },
  };
  return self;
}
