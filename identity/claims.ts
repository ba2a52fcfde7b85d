/** How ptc reads an issuer's claims about somebody. Pure. */
import { isObject } from "../base/json.ts";
import type { IssuerSettings, Scope } from "../configuration/configuration.ts";
import { SCOPES } from "../configuration/settings/http-settings.ts";
import { type Caller, invalidToken, principalOf, type Refusal } from "./caller.ts";

const MAX_GROUPS = 1_000;
const MAX_GROUP_CHARS = 256;
const MAX_NAME_CHARS = 256;
const MAX_CLIENT_CHARS = 256;
const NAMES = ["name", "preferred_username", "email"];
const EVERYBODY = "*";

/** The caller whom an issuer's claims describe. @param claims of a token whose signature, issuer, audience and times are valid. */
export function callerOf(
  claims: Readonly<Record<string, unknown>>,
  { issuer, claims: names, scopes }: Pick<IssuerSettings, "issuer" | "claims" | "scopes">,
): Caller | Refusal {
  const principal = principalOf(issuer, claimAt(claims, names.subject));
  if (principal === undefined)
    return invalidToken(`the token does not say who it is for (its claim '${names.subject}')`);
  const groups = textsOf(claimAt(claims, names.groups)).slice(0, MAX_GROUPS);
  const name = (names.name === undefined ? NAMES : [names.name])
    .map((each) => claimAt(claims, each))
    .find((each) => typeof each === "string" && each !== "") as string | undefined;
  return {
    context: {
      principal,
      source: "serve",
      ...(name === undefined ? {} : { name: name.slice(0, MAX_NAME_CHARS) }),
      ...(groups.length === 0 ? {} : { groups }),
      ...clientIn(claims),
    },
    scopes: scopesOf(claims, groups, scopes),
  };
}

/** The client to which a token was issued (RFC 9068, section 2.2; RFC 7662, section 2.2; OpenID Connect Core, section 2, `azp`). */
function clientIn({ client_id, azp }: Readonly<Record<string, unknown>>): { clientId?: string } {
  const named = [client_id, azp].find((each) => typeof each === "string" && each !== "");
  return named === undefined ? {} : { clientId: String(named).slice(0, MAX_CLIENT_CHARS) };
}

/** The ptc scopes that somebody has. */
function scopesOf(
  claims: Readonly<Record<string, unknown>>,
  groups: readonly string[],
  mapped: IssuerSettings["scopes"],
): Set<Scope> {
  const { scope, scp, roles } = claims;
  const granted = new Set([...words(scope), ...words(scp), ...textsOf(roles)]);
  const has = (value: string) => value === EVERYBODY || granted.has(value) || groups.includes(value);
  return new Set(SCOPES.filter((each) => (mapped[each] ?? [each]).some(has)));
}

/** The value of a claim. A claim whose name itself contains a dot has precedence, such as `https://example.com/groups`. */
function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let at: unknown = claims;
  for (const step of path.split(".")) {
    if (!isObject(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at;
}

/** The texts in a list, or the one text. */
function textsOf(value: unknown): string[] {
  const texts = Array.isArray(value) ? value : [value];
  return texts.filter(
    (text): text is string => typeof text === "string" && text !== "" && text.length <= MAX_GROUP_CHARS,
  );
}

/** Scopes, with spaces between them (RFC 6749, section 3.3), or as a list. */
function words(value: unknown): string[] {
  return textsOf(Array.isArray(value) ? value : typeof value === "string" ? value.split(" ") : []);
}
