import { selectClientAuthMethod } from "@modelcontextprotocol/client";
import type { Client } from "../../../authorization/logins/login-record.ts";

/**
 * Adds what identifies the client to a request to an authorization server (RFC 6749, section 2.3.1). In HTTP Basic, id and
 * secret are encoded as a form encodes them, which the client package leaves out.
 */
export function authenticateClient(
  client: Client,
  supported: readonly string[] | undefined,
  headers: Headers,
  parameters: URLSearchParams,
): void {
  const method = selectClientAuthMethod(
    {
      client_id: client.id,
      ...(client.secret === undefined ? {} : { client_secret: client.secret }),
      ...(client.authMethod === undefined ? {} : { token_endpoint_auth_method: client.authMethod }),
    },
    [...(supported ?? [])],
  );
  if (method === "client_secret_basic" && client.secret !== undefined) {
    const pair = `${formEncoded(client.id)}:${formEncoded(client.secret)}`;
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
    return;
  }
  parameters.set("client_id", client.id);
  if (method === "client_secret_post" && client.secret !== undefined)
    parameters.set("client_secret", client.secret);
}

function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}
