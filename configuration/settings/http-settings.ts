/** The keys of `http`: how `ptc serve --http` is reached, and who may use it. */
import * as z from "zod";
import {
  expanded,
  list,
  mapping,
  numberBetween,
  oneOf,
  orEmpty,
  secret,
  section,
  setting,
  text,
  trueOrFalse,
  wholeNumber,
} from "./declare.ts";
import { secretValue } from "./server-settings.ts";

/** What a caller may do with a token. */
export const SCOPES = ["ptc:run", "ptc:approve", "ptc:admin"] as const;

/** Signatures that are not forgeable by whoever has a public key: no `none`, and no shared secrets. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA"],
] as const;

/** An `https` URL, or one on this machine. */
function issuerUrl() {
  return text(2_048).refine(isIssuer, {
    error: "must be an https URL without a query, such as https://login.example.com (http on this machine)",
  });
}

function isIssuer(value: string): boolean {
  if (!URL.canParse(value) || /[?#\s]/.test(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopbackName(hostname));
}

/** Whether a host name of a URL is this machine's own. */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

const Issuer = mapping(
  () => ({
    issuer: setting(issuerUrl(), "the issuer, exactly as its tokens name it in `iss`"),
    audience: setting(
      z
        .union([text(2_048), list(text(2_048)).min(1, { error: "must have at least one audience" })], {
          error: "must be a text, or a list of texts",
        })
        .optional(),
      "the accepted audiences (`aud`) of its tokens; by default `http.public_url`",
    ),
    algorithms: setting(
      list(oneOf(ALGORITHMS))
        .min(1, { error: "must have at least one algorithm" })
        .default(["RS256", "ES256"]),
      "the accepted algorithms of its tokens' signatures",
    ),
    clock_skew_seconds: setting(
      wholeNumber(0, 300).default(30),
      "how far the issuer's clock may differ from this machine's",
    ),
    jwks_url: setting(issuerUrl().optional(), "the URL of its keys; by default that in its metadata"),
    subject: setting(text(256).default("sub"), "the claim that identifies a person and never changes"),
    name: setting(
      text(256).optional(),
      "the claim with the person's name; by default `name`, `preferred_username` or `email`",
    ),
    groups: setting(
      text(256).default("groups"),
      "the claim with the person's groups; a dot selects a member of an object",
    ),
    scopes: setting(
      mapping(
        () =>
          Object.fromEntries(
            SCOPES.map((scope) => [
              scope,
              setting(
                list(text(1_024)).optional(),
                `a token has this scope if one of these is among its scopes (\`scope\`, \`scp\`), roles (\`roles\`) or groups; \`*\` stands for every token; by default the scope \`${scope}\``,
              ),
            ]),
          ) as Record<(typeof SCOPES)[number], z.ZodOptional<z.ZodArray<z.ZodString>>>,
      ).optional(),
    ),
    request_scopes: setting(
      list(text(1_024).regex(/^[!#-[\]-~]+$/, { error: "must be a scope without spaces" })).optional(),
      "the scopes that ptc tells clients to request; by default ptc's own scopes that are not mapped",
    ),
    login: setting(
      mapping(() => ({
        client_id: setting(
          text(2_048),
          "ptc's own client at the issuer, whose redirect URIs are `PUBLIC_URL/logins/who` and, for the console, `/console/callback` of the same host: people who use a browser log in there",
        ),
        client_secret: setting(
          expanded(secret(secretValue(text(8_192)).optional())),
          "the client's secret; a value as for `servers[].env`. A public client has none",
        ),
        scopes: setting(
          list(text(1_024).regex(/^[!#-[\]-~]+$/, { error: "must be a scope without spaces" })).default([]),
          "the scopes to request besides `openid`, such as `profile`, so that the ID token contains the person's name and groups",
        ),
      })).optional(),
    ),
    introspection: setting(
      mapping(() => ({
        client_id: setting(text(2_048), "ptc's own client at the issuer, for introspecting opaque tokens"),
        client_secret: setting(
          expanded(secret(secretValue(text(8_192)))),
          "the client's secret; a value as for `servers[].env`",
        ),
        url: setting(
          issuerUrl().optional(),
          "the introspection endpoint; by default that in the issuer's metadata",
        ),
        cache_seconds: setting(
          numberBetween(0, 60).default(10),
          "how long an answer is cached, and thus how long a revoked token may still be accepted",
        ),
      })).optional(),
    ),
  }),
  "must be a mapping with `issuer`",
);

export const Http = section(() => ({
  listen: setting(
    text(256)
      .regex(/^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):\d{1,5}$/, {
        error: 'must be HOST:PORT, such as "127.0.0.1:8080" or "[::]:8443"',
      })
      .optional(),
    "where `ptc serve --http` listens, as HOST:PORT; by default 127.0.0.1:8080. Beyond this machine only with `auth`",
    { value: '"127.0.0.1:8080"' },
  ),
  public_url: setting(
    text(2_048)
      .refine((value) => /^https?:\/\/[^?#\s]+$/.test(value) && URL.canParse(value), {
        error: "must be an http or https URL without a query, such as https://ptc.example.com/mcp",
      })
      .optional(),
    "the URL that clients use, and the audience of tokens; MCP is served at its path",
    { value: '"https://ptc.example.com/mcp"' },
  ),
  tls: setting(
    mapping(
      () => ({
        cert: setting(text(4_096), "a file with the certificate chain in PEM; read again when it changes"),
        key: setting(text(4_096), "a file with its private key, in PEM"),
      }),
      "must be a mapping with `cert` and `key`",
    ).optional(),
  ),
  trusted_proxies: setting(
    orEmpty(
      list(
        text(64).regex(/^[0-9A-Fa-f.:]+(?:\/\d{1,3})?$/, {
          error: "must be an address or a network, such as 10.0.0.0/8",
        }),
      ).max(64, { error: "must be at most 64 addresses" }),
    ),
    "addresses and networks of the proxies whose `X-Forwarded-*` headers ptc trusts",
    { value: "[10.0.0.0/8]" },
  ),
  drain_seconds: setting(
    wholeNumber(1, 3_600).default(30),
    "how long running programs may continue after SIGTERM",
    {},
  ),
  auth: setting(
    mapping(
      () => ({
        issuers: setting(
          list(Issuer).max(16, { error: "must be at most 16 issuers" }).default([]),
          "the OAuth issuers whose tokens are accepted",
        ),
        tokens: setting(trueOrFalse().default(true), "whether tokens of `ptc token create` are accepted"),
      }),
      "must be a mapping with `issuers`, `tokens` or both",
    ).optional(),
  ),
}));
