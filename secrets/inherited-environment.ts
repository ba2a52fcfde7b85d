import { urlCredentialsIn } from "./redaction-secrets.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that every program needs. */
const USUAL = /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_[A-Z_]+|TERM|SHELL|TMPDIR)$/;

/** Variables for connections to other machines: proxies, and the certificate authorities that are trusted. */
const OUTGOING =
  /^(?:(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy|NODE_EXTRA_CA_CERTS|NODE_USE_ENV_PROXY|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)$/;

/** Settings of package managers that install servers, such as registries. */
const PACKAGES = /^(?:npm_config_|NPM_CONFIG_|UV_|PIP_).+$/;

/** Variables that npm sets for the programs that it runs, and settings for publishing packages. */
const NOT_FOR_SERVERS =
  /^(?:npm_config_(?:user_agent|npm_version|node_gyp|local_prefix|global_prefix|init_module)|UV_PUBLISH_.+)$/;

const SECRET_NAME = /auth|key|pass|token|secret/i;

/** Whether servers on stdio get a variable of ptc's environment. */
export function isInherited(name: string): boolean {
  return USUAL.test(name) || OUTGOING.test(name) || (PACKAGES.test(name) && !NOT_FOR_SERVERS.test(name));
}

/** The few variables of ptc's environment that servers get. */
export function inheritedEnvironment(env: Environment = process.env): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && isInherited(name)) inherited[name] = value;
  }
  return inherited;
}

/** The values of inherited variables that contain credentials: URLs with a password, and secrets of package managers. */
export function inheritedSecrets(env: Environment): string[] {
  return Object.entries(inheritedEnvironment(env)).flatMap(([name, value]) =>
    urlCredentialsIn(value).length > 0 || (PACKAGES.test(name) && SECRET_NAME.test(name)) ? [value] : [],
  );
}
