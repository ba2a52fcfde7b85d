import * as z from "zod/mini";

/** The OAuth client as which ptc logged in (RFC 7591, section 2). */
const Client = z.object({
  id: z.string(),
  secret: z.optional(z.string()),
  /** `token_endpoint_auth_method`, where the registration or the user names one. */
  authMethod: z.optional(z.string()),
  /** Where the client is from: the configuration, its metadata document, or a registration of ptc's own. */
  kind: z.enum(["configured", "document", "registered"]),
  redirectUri: z.optional(z.string()),
  /** When the secret expires, in milliseconds since 1970. */
  expiresAt: z.optional(z.number()),
});
export type Client = z.infer<typeof Client>;

/** What is kept of a login: tokens, and everything that they are bound to. */
export const Login = z.object({
  version: z.literal(1),
  /** The binding: on whose behalf, for which server, by which authorization server. */
  principal: z.string(),
  url: z.string(),
  issuer: z.string(),
  /** The resource indicator that the tokens are for (RFC 8707). */
  resource: z.optional(z.string()),
  tokenEndpoint: z.string(),
  revocationEndpoint: z.optional(z.string()),
  /** `token_endpoint_auth_methods_supported`. */
  authMethods: z.optional(z.array(z.string())),
  /** Where the server was reached, which decides where its authorization server may be. */
  zone: z.optional(z.enum(["public", "private", "loopback", "forbidden"])),
  client: Client,
  /** Without it, the login has ended, and only its client and scopes are still known. */
  accessToken: z.optional(z.string()),
  refreshToken: z.optional(z.string()),
  /** In milliseconds since 1970; `undefined` when the authorization server did not say. */
  expiresAt: z.optional(z.number()),
  /** The scopes that were granted, as far as the authorization server said, else those that were asked for. */
  scope: z.optional(z.string()),
  /** The scopes that the login asked for, of which the authorization server may have granted some only. */
  askedScope: z.optional(z.string()),
  /** The scopes that the next login is to ask for, because the server wants more than were granted. */
  wantedScope: z.optional(z.string()),
});
export type Login = z.infer<typeof Login>;

/** What a login is known by. A login for one is never used for another. */
export interface LoginKey {
  readonly principal: string;
  /** The configured name of the server. Two entries for one URL have logins of their own, as for two accounts. */
  readonly server: string;
  readonly url: string;
  /** The configured client, if there is one. */
  readonly clientId: string | undefined;
}

/** Whether two names are of one authorization server. People leave out the last slash, which some issuers have. */
export function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, "") === other.replace(/\/$/, "");
}

/** The scopes of several lists, each once, in the order in which they come (RFC 6749, section 3.3). */
export function uniteScopes(...scopes: (string | undefined)[]): string | undefined {
  const all = scopes.flatMap((scope) => (scope ?? "").split(/\s+/)).filter((scope) => scope !== "");
  return all.length === 0 ? undefined : [...new Set(all)].join(" ");
}

/** Whether a list of scopes has all of another. */
export function includesScopes(granted: string | undefined, wanted: string | undefined): boolean {
  return uniteScopes(granted, wanted) === uniteScopes(granted);
}
