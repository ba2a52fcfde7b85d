import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";

export const REDIRECT = "http://127.0.0.1:1/callback";

/** A person's login at a client of the SDK: a browser that does what the issuer asks, and where the client keeps what it gets. */
export class PersonLogin implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: "ptc-tests",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  readonly #browser: ScriptedBrowser;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = "";
  #discovered: OAuthDiscoveryState | undefined;
  /** What came back with the browser. */
  params: URLSearchParams | undefined;

  /** @param client is registered already; by default it registers itself. */
  constructor({
    browser = new ScriptedBrowser(),
    client,
  }: { browser?: ScriptedBrowser; client?: StoredOAuthClientInformation } = {}) {
    this.#browser = browser;
    this.#client = client;
  }

  clientInformation() {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation) {
    this.#client = client;
  }

  tokens() {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens) {
    this.#tokens = tokens;
  }

  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discovered = state;
  }

  discoveryState() {
    return this.#discovered;
  }

  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }

  codeVerifier() {
    return this.#verifier;
  }

  async redirectToAuthorization(url: URL) {
    const ended = await this.#browser.open(url.href, (each) => each.href.startsWith(REDIRECT));
    this.params = new URL(ended.url).searchParams;
  }
}
