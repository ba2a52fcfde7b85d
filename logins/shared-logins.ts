import { ArchiveError } from "../archive/archive-error.ts";
import { type Documents, LockTaken, sealedDocument } from "../archive/documents.ts";
import { parseForeignJson } from "../base/json.ts";
import { type Sealer, SealingError } from "../secrets/sealing.ts";
import { AuthorizationError } from "../upstream/authorization/authorization.ts";
import {
  LOGIN_PATIENCE_MS,
  Login,
  type LoginKey,
  type LoginStore,
  loginName,
} from "../upstream/authorization/login-store.ts";

/** The kind of documents that are logins. */
const LOGINS = "login";

const LIMITS = { maxBytes: 1024 * 1024, maxDepth: 16 };

/** Logins that several ptc share, sealed with the keys of their storage. */
export class SharedLogins implements LoginStore {
  readonly #documents: Documents;
  readonly #sealer: () => Promise<Sealer>;

  constructor(documents: Documents, sealer: () => Promise<Sealer>) {
    this.#documents = documents;
    this.#sealer = sealer;
  }

  async version(key: LoginKey): Promise<string> {
    const version = await this.#documents.version(LOGINS, loginName(key)).catch(() => 0);
    return version === 0 ? "" : String(version);
  }

  async read(key: LoginKey): Promise<Login | undefined> {
    const name = loginName(key);
    return plainly(async () => {
      const found = await this.#documents.read(LOGINS, name);
      if (found === undefined) return undefined;
      const bytes = (await this.#sealer()).unseal(found.content, sealedDocument(LOGINS, name));
      const login = Login.safeParse(parseForeignJson(bytes, LIMITS)).data;
      // A login that names another principal or another server is ignored.
      return login?.principal === key.principal && login.url === key.url ? login : undefined;
    });
  }

  async place(key: LoginKey): Promise<string | undefined> {
    return plainly(async () =>
      (await this.#documents.version(LOGINS, loginName(key))) === 0 ? undefined : this.#documents.place(),
    );
  }

  async write(key: LoginKey, login: Login): Promise<void> {
    const name = loginName(key);
    await plainly(async () => {
      const sealed = (await this.#sealer()).seal(
        Buffer.from(JSON.stringify(login)),
        sealedDocument(LOGINS, name),
      );
      await this.#documents.write(LOGINS, name, sealed);
    });
  }

  async remove(key: LoginKey): Promise<boolean> {
    return plainly(() => this.#documents.remove(LOGINS, loginName(key)));
  }

  async withLock<T>(key: LoginKey, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const lock = `login ${loginName(key)}`;
    return plainly(() => this.#documents.withLock(lock, work, { patienceMs: LOGIN_PATIENCE_MS, signal }));
  }
}

/** Runs work on the shared storage, and turns its failures into those of a login. @throws AuthorizationError */
async function plainly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LockTaken)
      throw new AuthorizationError("waits for another ptc that does not finish with its login; end that one");
    if (error instanceof ArchiveError || error instanceof SealingError)
      throw new AuthorizationError(`has a login that cannot be read: ${error.message}`);
    throw error;
  }
}
