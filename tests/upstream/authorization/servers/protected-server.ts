import { type IncomingMessage, type RequestListener, request, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen, type Seen, serveStreamable } from "../../mcp/upstream-http-servers.ts";

/** Knows what a token is good for. */
export interface TokenVerifier {
  verify(token: string): Promise<{ scopes: string[]; audience: string | undefined } | undefined>;
}

export interface ProtectedServer {
  /** The URL of the MCP endpoint. */
  url: string;
  seen: Seen;
  /** The tokens that came, one for each request; `undefined` for one without. */
  tokens: (string | undefined)[];
  /** Can be changed while it serves. */
  rules: ProtectionRules;
}

export interface ProtectionRules {
  authorizationServers: string[];
  verifier: TokenVerifier;
  /** The scopes that each request needs. */
  scopes?: string[];
  /** The scopes that a message of this text needs besides. */
  scopesFor?: (body: string) => string[];
  /** Whether the challenge names the metadata. */
  hasHeader?: boolean;
  /** Answers requests itself when it returns true. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Members of the protected resource metadata besides the usual ones. */
  metadata?: object;
  /** Where the metadata is; the well-known place of the path without it. */
  metadataPath?: string;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource/mcp";

/** An MCP server over Streamable HTTP that takes no request without a token of its authorization server for itself. */
export async function serveProtected(
  rules: ProtectionRules,
  listener?: RequestListener,
): Promise<ProtectedServer> {
  const seen: Seen = { headers: [], started: 0, aborted: 0 };
  const inner = await listen(listener ?? serveStreamable(seen).listener);
  const tokens: (string | undefined)[] = [];
  const handle: RequestListener = async (incoming, response) => {
    const { pathname } = new URL(incoming.url ?? "/", origin);
    if (server.rules.intercept?.(incoming, response) === true) return;
    const { authorizationServers, metadata, metadataPath = WELL_KNOWN } = server.rules;
    if (pathname === metadataPath) {
      const document = { resource: server.url, authorization_servers: authorizationServers, ...metadata };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
      return;
    }
    if (pathname !== "/mcp") return void response.writeHead(404).end();
    const token = /^Bearer (.*)$/.exec(incoming.headers.authorization ?? "")?.[1];
    tokens.push(token);
    const known = token === undefined ? undefined : await server.rules.verifier.verify(token);
    const challenge = (parameters: string[]) =>
      `Bearer ${[...(server.rules.hasHeader === false ? [] : [`resource_metadata="${origin}${metadataPath}"`]), ...parameters].join(", ")}`;
    const { scopes = [], scopesFor = () => [] } = server.rules;
    if (known === undefined || known.audience !== server.url) {
      const wanted = scopes.length > 0 ? [`scope="${scopes.join(" ")}"`] : [];
      response.writeHead(401, { "www-authenticate": challenge(wanted) }).end();
      return;
    }
    const body = await text(incoming);
    const missing = [...scopes, ...scopesFor(body)].filter((scope) => !known.scopes.includes(scope));
    if (missing.length > 0) {
      const parameters = ['error="insufficient_scope"', `scope="${missing.join(" ")}"`];
      response.writeHead(403, { "www-authenticate": challenge(parameters) }).end();
      return;
    }
    forward(incoming, body, response, inner);
  };
  const origin = await listen((incoming, response) => void handle(incoming, response));
  const server: ProtectedServer = { url: `${origin}/mcp`, seen, tokens, rules };
  return server;
}

/** Has the server behind answer a request. */
function forward(incoming: IncomingMessage, body: string, response: ServerResponse, origin: string): void {
  const { method, headers, url = "/" } = incoming;
  const sent = request(`${origin}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  sent.on("error", () => response.destroy());
  response.on("close", () => sent.destroy());
  sent.end(body);
}
