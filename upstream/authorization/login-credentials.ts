import type { Authorization } from "./authorization.ts";
import type { CredentialSource, ServerCredentials } from "./credentials.ts";

/** Adds to the credentials of another source the logins of principals. All connections of a principal share its login. */
export class LoginCredentials implements CredentialSource {
  readonly #others: CredentialSource;
  readonly #open: (principal: string, server: string) => Authorization | undefined;
  readonly #authorizations = new Map<string, Authorization | undefined>();

  /** @param open has the login of a principal at a server; `undefined` for a server that is not logged in to. */
  constructor(
    others: CredentialSource,
    open: (principal: string, server: string) => Authorization | undefined,
  ) {
    this.#others = others;
    this.#open = open;
  }

  async credentialsFor(principal: string, server: string, signal: AbortSignal): Promise<ServerCredentials> {
    const others = await this.#others.credentialsFor(principal, server, signal);
    const key = JSON.stringify([principal, server]);
    if (!this.#authorizations.has(key)) this.#authorizations.set(key, this.#open(principal, server));
    const authorization = this.#authorizations.get(key);
    return authorization === undefined ? others : { ...others, authorization };
  }
}
