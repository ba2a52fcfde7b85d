/**
 * Passkeys (WebAuthn) with which people approve calls in the console, where `approvals.require` is `passkey`.
 *
 * A ceremony has two steps. First ptc makes a challenge: the digest of a statement that says what the passkey is used for (which
 * answer to which question, or which change of passkeys), by which principal, and until when, with a number that is used once. The
 * browser gets the statement sealed. Then the browser returns both, and ptc acts on the statement alone: nothing else in that
 * request says what is approved. A statement is valid once, for its principal, until it expires. ptc stores the used statements beside the
 * passkeys, so that each process that shares the storage knows them.
 *
 * Anybody who has a session of a principal in the console can register that principal's first passkey. Every further change needs a
 * registered passkey. A principal's passkeys belong to one address, whose host name is the RP ID.
 */
import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import * as z from "zod/mini";
import { ArchiveError } from "../archive/archive-error.ts";
import { type Documents, LockTaken, sealedDocument } from "../archive/documents.ts";
import { messageOf } from "../base/faults.ts";
import { parseForeignJson } from "../base/json.ts";
import { oneLine } from "../base/visible-text.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { canonicalJson, textDigest } from "../protocol/canonical-json.ts";
import { type Sealer, SealingError } from "../secrets/sealing.ts";
import { openSharedDocuments, sharedStorage } from "../storage/storage.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { LockError, lockFile } from "../system/lock-file.ts";
import { writePrivateFile } from "../system/private-file.ts";

/** A passkey or its use is invalid, or passkeys cannot be read or stored. The message is one line for people. */
export class PasskeyError extends Error {
  override readonly name = "PasskeyError";
}

const Passkey = z.object({
  /** The id of the credential, in base64url. */
  id: z.string(),
  /** The public key (COSE), in base64url. */
  publicKey: z.string(),
  /** The signature counter; 0 where an authenticator has none. */
  counter: z.number(),
  transports: z.optional(z.array(z.string())),
  /** The host name of the console at which it was registered. */
  rpId: z.string(),
  /** When it was registered, in milliseconds since 1970. */
  addedAt: z.number(),
});
export type Passkey = z.infer<typeof Passkey>;

const Kept = z.object({
  version: z.literal(1),
  principal: z.string(),
  passkeys: z.array(Passkey),
  /** The used statements that have not expired. */
  used: z.array(z.object({ nonce: z.string(), until: z.number() })),
});
type Kept = z.infer<typeof Kept>;

/** Stores the passkeys of principals. */
interface PasskeyStore {
  /** Throws for content of another principal and for content that ptc did not write, because neither means that there are no passkeys. */
  read(principal: string): Promise<Kept | undefined>;
  write(principal: string, kept: Kept): Promise<void>;
  withLock<T>(principal: string, work: () => Promise<T>): Promise<T>;
}

const KIND = "passkeys";
const LIMITS = { maxBytes: 256 * 1024, maxDepth: 8 };
const PATIENCE_MS = 10_000;

/** A name for a principal that reveals nothing about it. */
function nameOf(principal: string): string {
  return textDigest(principal).slice("sha256:".length).slice(0, 32);
}

/** Opens the passkeys of this user's state folder, or those that several ptc share if the configuration has a storage. */
export function openPasskeyStore(
  env: EnvironmentVariables,
  configuration: Partial<Pick<Configuration, "storage">> = {},
): PasskeyStore {
  const documents = openSharedDocuments(configuration, env);
  const shared = sharedStorage(configuration, env);
  if (documents !== undefined && shared !== undefined)
    return sharedPasskeys(documents, async () => (await shared()).keys);
  const folder = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
  return passkeyFiles(join(folder, "ptc/passkeys"));
}

function parseKept(bytes: Uint8Array, principal: string, place: string): Kept {
  let value: unknown;
  try {
    value = parseForeignJson(bytes, LIMITS);
  } catch {
    value = undefined;
  }
  const kept = Kept.safeParse(value).data;
  if (kept?.principal === principal) return kept;
  throw new PasskeyError(`${place} is not what ptc has written about passkeys; restore it, or remove it`);
}

function passkeyFiles(folder: string): PasskeyStore {
  const pathOf = (principal: string) => join(folder, `${nameOf(principal)}.json`);
  const onFile = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof LockError) throw new PasskeyError(`passkeys cannot be changed: ${error.message}`);
      const { code } = error as NodeJS.ErrnoException;
      if (typeof code !== "string") throw error;
      throw new PasskeyError(`passkeys in ${folder} cannot be read or written (${code})`);
    }
  };
  return {
    read: (principal) =>
      onFile(async () => {
        const bytes = await readFile(pathOf(principal)).catch((error: NodeJS.ErrnoException) => {
          if (error.code === "ENOENT") return undefined;
          throw error;
        });
        return bytes && parseKept(bytes, principal, pathOf(principal));
      }),
    write: (principal, kept) =>
      onFile(async () => {
        await writePrivateFile(pathOf(principal), JSON.stringify(kept));
      }),
    async withLock(principal, work) {
      const release = await onFile(async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await chmod(folder, 0o700);
        return lockFile(join(folder, `${nameOf(principal)}.lock`), { patienceMs: PATIENCE_MS });
      });
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

function sharedPasskeys(documents: Documents, sealer: () => Promise<Sealer>): PasskeyStore {
  const onStorage = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof LockTaken)
        throw new PasskeyError("another ptc does not finish with your passkeys; try again");
      if (error instanceof ArchiveError || error instanceof SealingError)
        throw new PasskeyError(`passkeys cannot be read or written: ${error.message}`);
      throw error;
    }
  };
  const purposeOf = (principal: string) => sealedDocument(KIND, nameOf(principal));
  return {
    read: (principal) =>
      onStorage(async () => {
        const found = await documents.read(KIND, nameOf(principal));
        if (found === undefined) return undefined;
        const bytes = (await sealer()).unseal(found.content, purposeOf(principal));
        return parseKept(bytes, principal, "a document of the storage");
      }),
    write: (principal, kept) =>
      onStorage(async () => {
        const sealed = (await sealer()).seal(Buffer.from(JSON.stringify(kept)), purposeOf(principal));
        await documents.write(KIND, nameOf(principal), sealed);
      }),
    withLock: (principal, work) =>
      onStorage(() => documents.withLock(`passkeys ${nameOf(principal)}`, work, { patienceMs: PATIENCE_MS })),
  };
}

const Use = z.discriminatedUnion("kind", [
  /** An answer to a question: its ticket, its digest, and the digest of the scope of what is approved. */
  z.object({ kind: z.literal("answer"), ticket: z.string(), digest: z.string(), scope: z.string() }),
  /** A permission to register another passkey. */
  z.object({ kind: z.literal("add") }),
  z.object({ kind: z.literal("remove"), credential: z.string() }),
  /** The registration itself, which another passkey must permit unless it is the first. */
  z.object({ kind: z.literal("register"), permittedBy: z.optional(z.string()) }),
]);
/** The purpose of a use of a passkey. */
export type PasskeyUse = z.infer<typeof Use>;

const Statement = z.object({
  use: Use,
  principal: z.string(),
  rpId: z.string(),
  nonce: z.string(),
  until: z.number(),
});
type Statement = z.infer<typeof Statement>;

/** What a browser receives for a ceremony. It returns `sealed` with the answer of the authenticator. */
export interface Ceremony<Options> {
  readonly options: Options;
  readonly sealed: string;
}

/** What a browser returns: the sealed statement, and the authenticator's answer as JSON. */
export interface CeremonyAnswer {
  readonly sealed: string;
  readonly response: string;
}

/** A change of passkeys, for the audit log. */
export interface PasskeyChange {
  principal: string;
  event: "passkey_added" | "passkey_removed";
  credential: string;
  reason?: string;
}

interface PasskeysOptions {
  store: PasskeyStore;
  /** Where browsers reach the console. */
  origin: string;
  /** Seals statements; the same keys in every process that serves this console. */
  sealer: () => Promise<Sealer>;
  now: () => number;
  onChange: (change: PasskeyChange) => void;
}

const CHALLENGE_MS = 5 * 60_000;
const MAX_PASSKEYS = 20;
const PURPOSE = "ptc passkey statement 1";
const RP_NAME = "ptc console";
/** EdDSA, ES256 and RS256 (COSE). Node.js warns about others, which are experimental there. */
const ALGORITHMS = [-8, -7, -257];

/** The library is loaded when the first passkey is used. */
const webAuthn = () => import("@simplewebauthn/server");

/** The passkeys of principals at one address. Methods reject with a PasskeyError for invalid passkeys and statements. */
export class Passkeys {
  readonly #options: PasskeysOptions;
  readonly #rpId: string;

  constructor(options: PasskeysOptions) {
    this.#options = options;
    this.#rpId = new URL(options.origin).hostname;
  }

  /** Why passkeys do not work at this address; `undefined` if they do. WebAuthn accepts host names, but no IP addresses. */
  get whyNone(): string | undefined {
    const { protocol } = new URL(this.#options.origin);
    const isName = isIP(this.#rpId.replace(/^\[|\]$/g, "")) === 0;
    if (isName && (protocol === "https:" || this.#rpId === "localhost")) return undefined;
    return `browsers use passkeys at https:// and a name, or at http://localhost, and this console is at ${this.#options.origin}`;
  }

  /** The passkeys of a principal, the oldest first. */
  async list(principal: string): Promise<readonly Passkey[]> {
    return (await this.#options.store.read(principal))?.passkeys ?? [];
  }

  /** Begins the use of a passkey. */
  async ask(
    principal: string,
    use: Exclude<PasskeyUse, { kind: "register" }>,
  ): Promise<Ceremony<PublicKeyCredentialRequestOptionsJSON>> {
    const passkeys = await this.#usable(principal);
    if (passkeys.length === 0)
      throw new PasskeyError("you have no passkey here; register one on the page Me first");
    const { challenge, sealed } = await this.#state(principal, use);
    const options = await (await webAuthn()).generateAuthenticationOptions({
      rpID: this.#rpId,
      challenge,
      userVerification: "required",
      timeout: CHALLENGE_MS,
      allowCredentials: passkeys.map(transportsOf),
    });
    return { options, sealed };
  }

  /**
   * Ends the use of a passkey.
   *
   * @param kind the expected kind of use. A statement of another kind is refused.
   * @returns the purpose of the use, and the id of the passkey.
   */
  async use<Kind extends PasskeyUse["kind"]>(
    principal: string,
    kind: Kind,
    answer: CeremonyAnswer,
  ): Promise<{ use: Extract<PasskeyUse, { kind: Kind }>; credential: string }> {
    const statement = await this.#stated(principal, kind, answer.sealed);
    const response = parseResponse(answer.response) as unknown as AuthenticationResponseJSON;
    return this.#change(principal, async (kept) => {
      const credential = kept.passkeys.find(({ id, rpId }) => id === response.id && rpId === this.#rpId);
      if (credential === undefined) throw new PasskeyError("this passkey is not one of yours here");
      useUp(kept, statement);
      const { authenticationInfo } = await verified(async () =>
        (await webAuthn()).verifyAuthenticationResponse({
          response,
          expectedChallenge: expecting(statement),
          expectedOrigin: this.#options.origin,
          expectedRPID: this.#rpId,
          credential: {
            id: credential.id,
            counter: credential.counter,
            publicKey: new Uint8Array(Buffer.from(credential.publicKey, "base64url")),
          },
          requireUserVerification: true,
        }),
      );
      credential.counter = authenticationInfo.newCounter;
      return { use: statement.use as Extract<PasskeyUse, { kind: Kind }>, credential: credential.id };
    });
  }

  /**
   * Begins the registration of a passkey.
   *
   * @param permission the use of a passkey to `add` another; needed where the principal has one.
   */
  async offer(
    { principal, name }: { principal: string; name: string },
    permission?: CeremonyAnswer,
  ): Promise<Ceremony<PublicKeyCredentialCreationOptionsJSON>> {
    const permitted = permission && (await this.use(principal, "add", permission));
    const passkeys = await this.#usable(principal);
    if (permitted === undefined && passkeys.length > 0)
      throw new PasskeyError("adding another passkey needs one that you have");
    if (passkeys.length >= MAX_PASSKEYS)
      throw new PasskeyError(`you have ${MAX_PASSKEYS} passkeys; remove one`);
    const permittedBy = permitted && { permittedBy: permitted.credential };
    const { challenge, sealed } = await this.#state(principal, { kind: "register", ...permittedBy });
    const options = await (await webAuthn()).generateRegistrationOptions({
      rpName: RP_NAME,
      rpID: this.#rpId,
      challenge,
      timeout: CHALLENGE_MS,
      userName: principal,
      userDisplayName: name,
      attestationType: "none",
      supportedAlgorithmIDs: ALGORITHMS,
      userID: new Uint8Array(createHash("sha256").update(principal).digest()),
      authenticatorSelection: { residentKey: "discouraged", userVerification: "required" },
      excludeCredentials: passkeys.map(transportsOf),
    });
    return { options, sealed };
  }

  /** Ends the registration of a passkey. */
  async register(principal: string, answer: CeremonyAnswer): Promise<void> {
    const statement = await this.#stated(principal, "register", answer.sealed);
    const { permittedBy } = statement.use as Extract<PasskeyUse, { kind: "register" }>;
    const response = parseResponse(answer.response) as unknown as RegistrationResponseJSON;
    const credential = await this.#change(principal, async (kept) => {
      useUp(kept, statement);
      const isPermitted =
        permittedBy === undefined
          ? kept.passkeys.length === 0
          : kept.passkeys.some(({ id }) => id === permittedBy);
      if (!isPermitted) throw new PasskeyError("your passkeys have changed meanwhile; begin again");
      const { registrationInfo } = await verified(async () =>
        (await webAuthn()).verifyRegistrationResponse({
          response,
          expectedChallenge: expecting(statement),
          expectedOrigin: this.#options.origin,
          expectedRPID: this.#rpId,
          supportedAlgorithmIDs: ALGORITHMS,
          requireUserVerification: true,
        }),
      );
      const { id, publicKey, counter, transports } = registrationInfo.credential;
      if (kept.passkeys.some((each) => each.id === id))
        throw new PasskeyError("this passkey is already registered");
      kept.passkeys.push({
        id,
        publicKey: Buffer.from(publicKey).toString("base64url"),
        counter,
        transports,
        rpId: this.#rpId,
        addedAt: this.#options.now(),
      });
      return id;
    });
    const reason = permittedBy === undefined ? "the first" : `permitted by ${permittedBy}`;
    this.#options.onChange({ principal, event: "passkey_added", credential, reason });
  }

  /** Removes a passkey, by a use of one to `remove` it. */
  async remove(principal: string, answer: CeremonyAnswer): Promise<void> {
    const { use, credential: permittedBy } = await this.use(principal, "remove", answer);
    await this.#change(principal, async (kept) => {
      const index = kept.passkeys.findIndex(({ id }) => id === use.credential);
      if (index < 0) throw new PasskeyError("this passkey was already removed");
      kept.passkeys.splice(index, 1);
    });
    const { credential } = use;
    const reason = `permitted by ${permittedBy}`;
    this.#options.onChange({ principal, event: "passkey_removed", credential, reason });
  }

  /** The principal's passkeys, if all belong to this address. With passkeys at another address, nobody registers a first one here. */
  async #usable(principal: string): Promise<readonly Passkey[]> {
    if (this.whyNone !== undefined) throw new PasskeyError(this.whyNone);
    const passkeys = await this.list(principal);
    const [other] = passkeys.filter(({ rpId }) => rpId !== this.#rpId);
    if (other === undefined) return passkeys;
    throw new PasskeyError(
      `you have passkeys for the console at ${other.rpId}, and they count there alone; answer there, or remove them there`,
    );
  }

  async #state(
    principal: string,
    use: PasskeyUse,
  ): Promise<{ challenge: Uint8Array<ArrayBuffer>; sealed: string }> {
    const statement: Statement = {
      use,
      principal,
      rpId: this.#rpId,
      nonce: randomBytes(16).toString("base64url"),
      until: this.#options.now() + CHALLENGE_MS,
    };
    const sealer = await this.#options.sealer();
    const sealed = sealer.seal(Buffer.from(JSON.stringify(statement)), PURPOSE).toString("base64url");
    return { challenge: challengeOf(statement), sealed };
  }

  async #stated(principal: string, kind: PasskeyUse["kind"], sealed: string): Promise<Statement> {
    const statement = await this.#unsealed(sealed);
    if (statement?.principal !== principal || statement.rpId !== this.#rpId || statement.use.kind !== kind)
      throw new PasskeyError("this use of a passkey was not begun here by you; load the page and try again");
    if (statement.until <= this.#options.now())
      throw new PasskeyError("this use of a passkey has expired; load the page and try again");
    return statement;
  }

  async #unsealed(sealed: string): Promise<Statement | undefined> {
    if (sealed.length > LIMITS.maxBytes || !/^[\w-]+$/.test(sealed)) return undefined;
    const sealer = await this.#options.sealer();
    try {
      const bytes = sealer.unseal(Buffer.from(sealed, "base64url"), PURPOSE);
      return Statement.safeParse(parseForeignJson(bytes, LIMITS)).data;
    } catch (error) {
      if (error instanceof SealingError) return undefined;
      throw error;
    }
  }

  /** Changes the passkeys of a principal under a lock. A used statement stays used if the change fails. */
  async #change<T>(principal: string, work: (kept: Kept) => Promise<T>): Promise<T> {
    const { store, now } = this.#options;
    return store.withLock(principal, async () => {
      const kept = (await store.read(principal)) ?? {
        version: 1 as const,
        principal,
        passkeys: [],
        used: [],
      };
      kept.used = kept.used.filter(({ until }) => until > now());
      try {
        return await work(kept);
      } finally {
        await store.write(principal, kept);
      }
    });
  }
}

/** Records that a statement was used. @throws PasskeyError if it was used before. */
function useUp(kept: Kept, { nonce, until }: Statement): void {
  if (kept.used.some((each) => each.nonce === nonce))
    throw new PasskeyError("this use of a passkey was counted before; load the page and try again");
  kept.used.push({ nonce, until });
}

function challengeOf(statement: Statement): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash("sha256").update(canonicalJson(statement)).digest());
}

/** Checks that the authenticator has signed this statement. @throws PasskeyError if it has signed another. */
function expecting(statement: Statement): (challenge: string) => boolean {
  const expected = Buffer.from(challengeOf(statement)).toString("base64url");
  return (challenge) => {
    if (challenge === expected) return true;
    throw new PasskeyError("this passkey was used for something else; load the page and try again");
  };
}

/** @throws PasskeyError that says in one line why an authenticator's answer is invalid. */
async function verified<T extends { verified: boolean }>(
  verify: () => Promise<T>,
): Promise<T & { verified: true }> {
  let outcome: T;
  try {
    outcome = await verify();
  } catch (error) {
    if (error instanceof PasskeyError) throw error;
    throw new PasskeyError(`this passkey does not count: ${oneLine(messageOf(error), 200)}`);
  }
  if (!outcome.verified) throw new PasskeyError("this passkey does not count: its signature is wrong");
  return outcome as T & { verified: true };
}

function transportsOf({ id, transports }: Passkey) {
  return { id, ...(transports === undefined ? {} : { transports }) };
}

/** Checks only the outline: the library checks the rest. */
const Response = z.looseObject({ id: z.string(), response: z.looseObject({}) });

function parseResponse(text: string): z.infer<typeof Response> {
  let value: unknown;
  try {
    value = parseForeignJson(text, LIMITS);
  } catch {
    value = undefined;
  }
  const parsed = Response.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PasskeyError("the browser sent no answer of a passkey");
}
