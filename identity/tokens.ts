/**
 * Tokens of ptc's own. Those of the project (`ptc token create`) are for agents in CI and others that no issuer knows: each is a
 * separate principal. Those that a person makes in the console have an owner: anybody who has one acts as that person, with the groups
 * and scopes that the person gave it. A permission of a group applies to a token that has the group. A prohibition or limit of a
 * group applies to each token whose owner is in it: so a token escapes no rule and no limit of its owner. A token is shown once. ptc keeps only its digest,
 * from which nobody can recover it, in a private file of the project or in the storage that several ptc share. There it is sealed, so that
 * nobody who can write to the storage can make a token for somebody.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { type Documents, LockTaken, sealedDocument } from "../archive/documents.ts";
import type { Configuration, Scope } from "../configuration/configuration.ts";
import { SCOPES } from "../configuration/settings/http-settings.ts";
import { type Sealer, SealingError } from "../secrets/sealing.ts";
import { openSharedDocuments, sharedStorage } from "../storage/storage.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { lockFile } from "../system/lock-file.ts";
import { writePrivateFile } from "../system/private-file.ts";
import { hideFromGit, PRIVATE_FOLDER_NAME } from "../system/private-folder.ts";
import { type Caller, invalidToken, principalOfToken, type Refusal } from "./caller.ts";

/** Tokens cannot be read or stored, or there is none of that name. The message is one line. */
export class TokenError extends Error {
  override readonly name = "TokenError";
}

export const TOKEN_PREFIX = "ptc_";
const SECRET_BYTES = 32;
const TOKEN = /^ptc_[\w-]{43}$/;
const MAX_TOKENS = 1_000;
/** Of one owner. */
const MAX_OWNED = 20;
const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** How long ptc caches the tokens, and thus how long it may still accept a revoked one. */
const COUNTS_MS = 2_000;
const LOCK_PATIENCE_MS = 10_000;

/** The stored record of a token. Times are milliseconds since 1970. */
const KeptToken = z.object({
  name: z.string(),
  digest: z.string(),
  groups: z.array(z.string()),
  scopes: z.array(z.enum(SCOPES)),
  /** The toolsets to which it is narrowed; absent if it is not. */
  toolsets: z.optional(z.array(z.string())),
  created_at: z.number(),
  expires_at: z.number(),
  /** The principal who made it for themselves; absent where it is one of the project. */
  owner: z.optional(z.string()),
  /** The groups of the owner's logins. Prohibitions and limits of these apply to the token, which need not have them. */
  owner_groups: z.optional(z.array(z.string())),
});
export type KeptToken = z.infer<typeof KeptToken>;
/** Version 2 has narrowed tokens. An older ptc does not read it, so it cannot widen one. */
const Kept = z.object({ version: z.literal([1, 2]), tokens: z.array(KeptToken).max(MAX_TOKENS) });

/** The properties of a new token. */
interface NewToken {
  readonly groups: readonly string[];
  readonly scopes: readonly Scope[];
  /** The toolsets to which it is narrowed; none by default. */
  readonly toolsets?: readonly string[] | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The principal that it acts as; absent for a token of the project. */
  readonly owner?: string | undefined;
  /** The groups of the owner's login, to which later logins add. */
  readonly ownerGroups?: readonly string[] | undefined;
}

function isNamed(token: KeptToken, name: string, owner: string | undefined): boolean {
  return token.name === name && token.owner === owner;
}

/** The storage of the tokens of a project, as one text. */
interface TokenPlace {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
  /** Runs work while nobody else changes the tokens. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

export class Tokens {
  readonly #place: TokenPlace;
  readonly #now: () => number;
  #read: { tokens: Promise<KeptToken[]>; at: number } | undefined;

  /** @param now milliseconds since 1970. */
  constructor(place: TokenPlace, now: () => number = Date.now) {
    this.#place = place;
    this.#now = now;
  }

  /** Opens the tokens of a project. It reads and creates nothing before it is needed. */
  static open(
    configuration: Pick<Configuration, "directory" | "storage">,
    env: EnvironmentVariables,
  ): Tokens {
    const documents = openSharedDocuments(configuration, env);
    const shared = sharedStorage(configuration, env);
    if (documents === undefined || shared === undefined) return new Tokens(fileIn(configuration.directory));
    return new Tokens(tokensIn(documents, async () => (await shared()).keys));
  }

  /**
   * Makes a token, and returns it: ptc does not keep it.
   *
   * @throws TokenError for an invalid name, and if the same owner has a token of this name, or too many.
   */
  async create(
    name: string,
    { groups, scopes, toolsets = [], expiresAt, owner, ownerGroups = [] }: NewToken,
  ): Promise<string> {
    if (!TOKEN_NAME.test(name))
      throw new TokenError(
        "a name is 1 to 64 letters, digits, `.`, `_` or `-`, and begins with a letter or digit",
      );
    const token = TOKEN_PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
    await this.#change((tokens) => {
      const kept = tokens.filter((each) => each.expires_at > this.#now() || !isNamed(each, name, owner));
      if (kept.some((each) => isNamed(each, name, owner)))
        throw new TokenError(`there is a token '${name}'; revoke it first, or give this one another name`);
      if (owner !== undefined && kept.filter((each) => each.owner === owner).length >= MAX_OWNED)
        throw new TokenError(`you have ${MAX_OWNED} tokens; revoke those that you do not need`);
      if (kept.length >= MAX_TOKENS)
        throw new TokenError(`there are ${MAX_TOKENS} tokens; revoke those that nobody needs`);
      const created = { name, digest: digestOf(token).toString("base64url"), created_at: this.#now() };
      const granted = { groups: [...groups], scopes: [...scopes], expires_at: expiresAt };
      const owned = owner === undefined ? {} : { owner, owner_groups: [...ownerGroups].sort() };
      const narrow = toolsets.length === 0 ? {} : { toolsets: [...toolsets] };
      return [...kept, { ...created, ...granted, ...narrow, ...owned }];
    });
    return token;
  }

  /**
   * Records the groups of somebody's login: prohibitions and limits of these apply to their tokens from now on. A login with fewer groups
   * removes none, because logins through other clients may omit groups. It writes nothing if all groups are known.
   *
   * @throws TokenError
   */
  async learnGroups(owner: string, groups: readonly string[] = []): Promise<void> {
    const isNews = ({ owner: of, owner_groups: known }: KeptToken) =>
      of === owner && groups.some((group) => known?.includes(group) === false);
    if (!(await this.#recent()).some(isNews)) return;
    await this.#change((tokens) =>
      tokens.map((each) =>
        isNews(each)
          ? { ...each, owner_groups: [...new Set([...(each.owner_groups ?? []), ...groups])].sort() }
          : each,
      ),
    );
  }

  /** The tokens by name, including expired ones. @throws TokenError */
  async list(): Promise<KeptToken[]> {
    return (await this.#load()).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @param owner the token's owner; `undefined` for one of the project. @throws TokenError if they have none of this name. */
  async revoke(name: string, owner?: string): Promise<void> {
    await this.#change((tokens) => {
      const left = tokens.filter((each) => !isNamed(each, name, owner));
      if (left.length === tokens.length)
        throw new TokenError(`there is no token '${name}'; see \`ptc token list\``);
      return left;
    });
  }

  /** The caller with this token. @throws TokenError if tokens cannot be read. */
  async callerOf(token: string): Promise<Caller | Refusal> {
    if (!TOKEN.test(token)) return invalidToken("the token is not one of ptc's");
    const given = digestOf(token);
    let found: KeptToken | undefined;
    // Every token is compared, so that the time does not reveal which one matches.
    for (const each of await this.#recent())
      if (timingSafeEqual(Buffer.from(each.digest, "base64url"), given)) found = each;
    if (found === undefined) return invalidToken("the token was revoked, or is not known");
    if (found.expires_at <= this.#now()) return invalidToken("the token has expired");
    const { name, groups, scopes, toolsets = [], owner, owner_groups: ownerGroups } = found;
    if (owner !== undefined && ownerGroups === undefined)
      return invalidToken("the token was made before what binds its owner was kept; make it again");
    const boundGroups = (ownerGroups ?? []).filter((group) => !groups.includes(group));
    return {
      context: {
        principal: owner ?? principalOfToken(name),
        source: "serve",
        name,
        ...(groups.length === 0 ? {} : { groups }),
        ...(boundGroups.length === 0 ? {} : { boundGroups }),
        ...(owner === undefined ? {} : { withOwnToken: true as const }),
        ...(toolsets.length === 0 ? {} : { toolsets: [...toolsets].sort() }),
      },
      scopes: new Set(scopes),
    };
  }

  async #change(change: (tokens: KeptToken[]) => KeptToken[]): Promise<void> {
    await this.#place.alone(async () => {
      const known = await this.#load().catch((error: unknown) => {
        if (error instanceof NotSealed) return [];
        throw error;
      });
      const tokens = change(known);
      const version = tokens.some(({ toolsets }) => toolsets !== undefined) ? 2 : 1;
      await this.#place.write(`${JSON.stringify({ version, tokens } satisfies z.infer<typeof Kept>)}\n`);
    });
    this.#read = undefined;
  }

  #recent(): Promise<KeptToken[]> {
    const now = performance.now();
    if (this.#read === undefined || now - this.#read.at > COUNTS_MS) {
      const read = { tokens: this.#load(), at: now };
      this.#read = read;
      read.tokens.catch(() => {
        if (this.#read === read) this.#read = undefined;
      });
    }
    return this.#read.tokens;
  }

  async #load(): Promise<KeptToken[]> {
    const text = await this.#place.read();
    if (text === undefined) return [];
    const parsed = Kept.safeParse(jsonOf(text));
    if (parsed.success && parsed.data.tokens.every(({ digest }) => DIGEST.test(digest)))
      return parsed.data.tokens;
    throw new TokenError("the kept tokens cannot be read; they were changed, or are of a newer ptc");
  }
}

const DIGEST = /^[\w-]{43}$/;

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const KIND = "tokens";
const NAME = "all";
/** The first character of JSON, which never begins a sealed value. */
const OPENING_BRACE = 0x7b;

/** The tokens in the storage are unsealed: an earlier ptc wrote them, or somebody else. None is valid. */
class NotSealed extends TokenError {
  constructor() {
    super("the kept tokens are not sealed, so none counts; make them again: `ptc token create`");
  }
}

/** The tokens that several ptc share, sealed with the keys of their storage. */
export function tokensIn(documents: Documents, sealer: () => Promise<Sealer>): TokenPlace {
  const purpose = sealedDocument(KIND, NAME);
  return {
    read: async () => {
      const found = await documents.read(KIND, NAME);
      if (found === undefined) return undefined;
      if (found.content[0] === OPENING_BRACE) throw new NotSealed();
      try {
        return (await sealer()).unseal(found.content, purpose).toString("utf8");
      } catch (error) {
        if (!(error instanceof SealingError)) throw error;
        throw new TokenError(`the kept tokens cannot be read: ${error.message}`);
      }
    },
    write: async (text) => documents.write(KIND, NAME, (await sealer()).seal(Buffer.from(text), purpose)),
    alone: async (work) => {
      try {
        return await documents.withLock(KIND, work, { patienceMs: LOCK_PATIENCE_MS });
      } catch (error) {
        if (error instanceof LockTaken)
          throw new TokenError("somebody else changes tokens just now; try again");
        throw error;
      }
    },
  };
}

/** A file that only its user can read. It is replaced as a whole. */
function fileIn(directory: string): TokenPlace {
  const folder = join(directory, PRIVATE_FOLDER_NAME);
  const path = join(folder, "tokens.json");
  const faultOf = (error: unknown) =>
    new TokenError(`${path} cannot be used: ${(error as NodeJS.ErrnoException).code ?? error}`);
  return {
    read: async () => {
      try {
        return readFileSync(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw faultOf(error);
      }
    },
    write: async (text) => {
      await writePrivateFile(path, text).catch((error: unknown) => {
        throw faultOf(error);
      });
    },
    alone: async (work) => {
      try {
        hideFromGit(folder, mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined);
      } catch (error) {
        throw faultOf(error);
      }
      const release = await lockFile(`${path}.lock`);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
