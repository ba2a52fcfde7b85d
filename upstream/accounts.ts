/**
 * Several accounts of one server (`servers[].accounts` in ptc.yaml). Each is a server of its own, with its own credentials and
 * connection. Together they are one server whose tools take one more argument, `account`, which names the account of a call.
 *
 * The argument stands in the definitions as if the server had listed it. So it is in the types of programs and in the digests that bind
 * these, and schemas, rules, labels and people see it as they see every other argument. No account is the default, because a call
 * whose account nobody has written would be one that no rule has seen.
 */
import { isObject } from "../base/json.ts";
import { mentionsArgument } from "../catalog/arguments.ts";
import type { ReachedUpstream, Upstream, UpstreamCall, UpstreamListing } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

/** The argument that names the account of a call. */
const ACCOUNT_ARGUMENT = "account";

type ToolsListener = Parameters<Upstream["onToolsChanged"]>[0];

interface AccountsOptions {
  /** The server of one account, which may be another object each time. */
  open: (account: string) => Upstream;
  /** Whether these are still the server's accounts. If not, listing fails and listeners hear of no changes. */
  isCurrent: () => boolean;
}

/** What the server itself has listed, by what is listed in its place. */
const ORIGINALS = new WeakMap<object, unknown>();

/**
 * The accounts of one server for one principal. The first account lists the tools of all of them. Another account may reach another
 * version of the server, so `reachedBy` lists its tools for the comparison.
 */
export class AccountsUpstream implements Upstream {
  readonly name: string;
  readonly #accounts: readonly string[];
  readonly #open: AccountsOptions["open"];
  readonly #isCurrent: AccountsOptions["isCurrent"];
  readonly #reached = new WeakMap<Upstream, ReachedUpstream>();

  constructor(name: string, accounts: readonly string[], { open, isCurrent }: AccountsOptions) {
    this.name = name;
    this.#accounts = accounts;
    this.#open = open;
    this.#isCurrent = isCurrent;
  }

  get #first(): Upstream {
    return this.#open(this.#accounts[0] ?? "");
  }

  get isConnected(): boolean {
    return this.#first.isConnected;
  }

  get isShared(): boolean {
    return this.#first.isShared === true;
  }

  get startsApart(): boolean {
    return this.#first.startsApart === true;
  }

  startAhead(): Promise<void> {
    return this.#first.startAhead();
  }

  list(signal?: AbortSignal): Promise<UpstreamListing> {
    return this.#listOf(this.#first, signal);
  }

  reachedBy(args: unknown): ReachedUpstream | undefined {
    const account = isObject(args) ? args[ACCOUNT_ARGUMENT] : undefined;
    if (typeof account !== "string" || !this.#accounts.includes(account)) return undefined;
    const own = this.#open(account);
    if (own === this.#first) return undefined;
    const reached = this.#reached.get(own) ?? this.#oneOf(account, own);
    this.#reached.set(own, reached);
    return reached;
  }

  #oneOf(account: string, own: Upstream): ReachedUpstream {
    return {
      name: this.name,
      account,
      get isConnected() {
        return own.isConnected;
      },
      startsApart: own.startsApart === true,
      startAhead: () => own.startAhead(),
      list: (signal) => this.#listOf(own, signal),
      call: (call) => this.call(call),
      onToolsChanged: (listener) => this.#follow(own, listener),
      renew: () => own.renew(),
      close: () => own.close(),
    };
  }

  async #listOf(own: Upstream, signal: AbortSignal | undefined): Promise<UpstreamListing> {
    const listing = await own.list(signal);
    if (!this.#isCurrent())
      throw new UpstreamError(
        "cancelled",
        `server '${this.name}' is not used: its accounts have just been changed; call it again`,
      );
    return withAccountArgument(listing, this.#accounts);
  }

  #follow(own: Upstream, listener: ToolsListener): () => void {
    const stop = own.onToolsChanged((change) => {
      if (this.#isCurrent()) listener(change);
      else stop();
    });
    return stop;
  }

  async call(call: UpstreamCall): Promise<unknown> {
    const { [ACCOUNT_ARGUMENT]: account, ...others } = isObject(call.arguments) ? call.arguments : {};
    if (typeof account !== "string" || !this.#accounts.includes(account))
      throw new UpstreamError(
        "start_failed",
        `server '${this.name}' has the accounts ${this.#accounts.join(", ")}`,
      );
    const definition = isObject(call.definition) ? ORIGINALS.get(call.definition) : undefined;
    return this.#open(account).call({ ...call, arguments: others, definition });
  }

  onToolsChanged(listener: ToolsListener): () => void {
    return this.#follow(this.#first, listener);
  }

  renew(): void {
    for (const account of this.#accounts) this.#open(account).renew();
  }

  async close(): Promise<void> {
    await Promise.all(this.#accounts.map((account) => this.#open(account).close()));
  }
}

/**
 * A listing whose tools take an account. It leaves out resources and prompts, which clients ask for without one, and tools with an
 * argument of that name.
 */
function withAccountArgument(listing: UpstreamListing, accounts: readonly string[]): UpstreamListing {
  const problems = [...(listing.problems ?? [])];
  const tools = listing.tools.flatMap((definition) => {
    if (!isObject(definition)) return [definition];
    const { inputSchema = {}, name, method } = definition;
    // Only ptc's own definitions of resources and prompts have a method.
    if (method !== undefined) return [];
    if (!isObject(inputSchema)) return [definition];
    const properties = isObject(inputSchema.properties) ? inputSchema.properties : {};
    if (mentionsArgument(inputSchema, ACCOUNT_ARGUMENT)) {
      const message = `is left out: it has an argument '${ACCOUNT_ARGUMENT}' of its own, which \`accounts\` uses`;
      problems.push({ ...(typeof name === "string" ? { tool: name } : {}), message });
      return [];
    }
    const required: unknown[] = Array.isArray(inputSchema.required) ? inputSchema.required : [];
    const account = { type: "string", enum: [...accounts], description: "The account that the call uses" };
    const listed = {
      ...definition,
      inputSchema: {
        ...inputSchema,
        type: "object",
        properties: { [ACCOUNT_ARGUMENT]: account, ...properties },
        required: [ACCOUNT_ARGUMENT, ...required],
      },
    };
    ORIGINALS.set(listed, definition);
    return [listed];
  });
  return { ...listing, tools, ...(problems.length === 0 ? {} : { problems }) };
}
