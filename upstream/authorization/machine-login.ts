import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/faults.ts";
import { type Authorization, type Challenge, notEnough } from "./authorization.ts";
import { includesScopes, uniteScopes } from "./logins/login-record.ts";

const EARLY_MS = 15_000;

/** What a server has asked for when it challenged a request. */
export interface Wanted {
  resourceMetadataUrl: string | undefined;
  scope: string | undefined;
}

export interface MachineLoginParts {
  /** Gets a token by the machine's own credentials. @throws AuthorizationError */
  fetch: (wanted: Wanted, signal?: AbortSignal) => Promise<{ token: string; expiresAt: number | undefined }>;
  onSecret: (secret: string) => void;
  clock: Pick<Clock, "wallMs">;
  /** Is told when a token was had, or why not. */
  onToken?: ((problem?: string) => void) | undefined;
}

/** The token of a machine, which is had without a person, and kept for as long as ptc runs. */
export class MachineLogin implements Authorization {
  readonly #parts: MachineLoginParts;
  readonly #secrets = new Set<string>();
  #wanted: Wanted = { resourceMetadataUrl: undefined, scope: undefined };
  #current: { token: string; expiresAt: number | undefined } | undefined;
  #fetching: Promise<void> | undefined;

  constructor(parts: MachineLoginParts) {
    this.#parts = parts;
  }

  async token(): Promise<string | undefined> {
    const { expiresAt = Number.POSITIVE_INFINITY } = this.#current ?? {};
    if (this.#current !== undefined && expiresAt - this.#parts.clock.wallMs() < EARLY_MS) await this.#renew();
    return this.#current?.token;
  }

  async challenged(
    { kind, resourceMetadataUrl, scope }: Challenge,
    rejected: string | undefined,
  ): Promise<boolean> {
    if (this.#current !== undefined && this.#current.token !== rejected) return true;
    // A server that wants what it was given already will not be content with it another time.
    if (kind === "insufficient_scope" && includesScopes(this.#wanted.scope, scope)) throw notEnough(scope);
    this.#wanted = {
      resourceMetadataUrl: resourceMetadataUrl ?? this.#wanted.resourceMetadataUrl,
      scope: uniteScopes(this.#wanted.scope, scope),
    };
    await this.#renew();
    return true;
  }

  secrets(): readonly string[] {
    return [...this.#secrets];
  }

  #renew(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { fetch, onToken } = this.#parts;
    const next = await fetch(this.#wanted).catch((error: unknown) => {
      onToken?.(messageOf(error));
      throw error;
    });
    this.#secrets.add(next.token);
    this.#parts.onSecret(next.token);
    this.#current = next;
    onToken?.();
  }
}
