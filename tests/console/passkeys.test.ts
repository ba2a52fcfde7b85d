import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { OneTimeAddress } from "../../console/entrance.ts";
import { enter, serveConsole, type Visitor } from "./served-console.ts";
import { SoftwarePasskey } from "./software-passkey.ts";

const NEEDED = "approvals count here only with a passkey, in the inbox of the console";
const ONE = "0000000000000001";
const OTHER = "0000000000000002";

interface Begun {
  options: { challenge: string; rpId?: string; rp?: { id: string }; userVerification?: string };
  sealed: string;
}

/** A console where approvals count with a passkey alone, with two questions, and who has opened it. */
async function setUp() {
  let nowMs = Date.now();
  const now = () => nowMs;
  let viewer = { principal: "local", name: "ada" };
  let address = new OneTimeAddress(viewer, Date.now);
  const entrance: OneTimeAddress["enter"] = (path, request) => address.enter(path, request);
  const parts = await serveConsole(
    { entrance: { enter: entrance } },
    { approvals: { require: "passkey" } },
    { name: "localhost", now },
  );
  const openedBy = async (principal: string): Promise<Somebody> => {
    viewer = { principal, name: principal };
    address = new OneTimeAddress(viewer, Date.now);
    return new Somebody(await enter(parts.origin, address.make(parts.origin)), parts);
  };
  await parts.ask({ ticket: ONE });
  await parts.ask({ ticket: OTHER, request: { argumentsDigest: "sha256:2", arguments: { to: "eve" } } });
  const answerTo = async (ticket: string) => (await parts.pending.offered(ticket))?.answer;
  return { ...parts, openedBy, answerTo, later: (ms: number) => (nowMs += ms) };
}

type Served = Awaited<ReturnType<typeof serveConsole>>;

/** Somebody in the console, with a passkey. */
class Somebody {
  readonly visitor: Visitor;
  readonly passkey: SoftwarePasskey;

  readonly #digest: (ticket: string) => Promise<string>;

  constructor(visitor: Visitor, { origin, digest }: Pick<Served, "origin" | "digest">) {
    this.visitor = visitor;
    this.passkey = new SoftwarePasskey(origin);
    this.#digest = digest;
  }

  async post(path: string, fields: Record<string, string> = {}): Promise<{ status: number; text: string }> {
    const token = await this.visitor.token();
    const [, ticket] = /^inbox\/(\w+)$/.exec(path) ?? [];
    const shown = ticket === undefined ? {} : { digest: await this.#digest(ticket) };
    const response = await this.visitor.post(`/console/${path}`, { token, ...shown, ...fields });
    return { status: response.status, text: await response.text() };
  }

  async begin(path: string, fields: Record<string, string> = {}): Promise<Begun> {
    const { status, text } = await this.post(path, fields);
    if (status !== 200) throw new Error((JSON.parse(text) as { why: string }).why);
    return JSON.parse(text) as Begun;
  }

  async register(passkey = this.passkey, permission: Record<string, string> = {}) {
    const { options, sealed } = await this.begin("me/passkeys/offer", permission);
    return this.post("me/passkeys", { sealed, response: passkey.create(options) });
  }

  /** What a browser sends with an answer. */
  async proof(ticket: string, fields: Record<string, string> = { decision: "once" }) {
    const { options, sealed } = await this.begin(`inbox/${ticket}/passkey`, fields);
    return { ...fields, sealed, response: this.passkey.get(options) };
  }
}

it("a call is approved with a passkey, and the answer and the audit log have its id", async () => {
  const { openedBy, answerTo, audit, folder } = await setUp();
  const ada = await openedBy("local");
  expect(await ada.visitor.text("/console/me")).toContain("You have none.");
  expect(await ada.register()).toMatchObject({ status: 303 });
  const { options } = await ada.begin(`inbox/${ONE}/passkey`, { decision: "once" });
  expect(options).toMatchObject({
    ...{ rpId: "localhost", userVerification: "required" },
    allowCredentials: [{ id: ada.passkey.id }],
  });
  expect(await ada.post(`inbox/${ONE}`, await ada.proof(ONE))).toMatchObject({ status: 303 });
  expect(await answerTo(ONE)).toEqual({
    ...{ decision: "once", by: "local", how: "ptc console" },
    proof: { way: "passkey", credential: ada.passkey.id },
  });
  await audit.close();
  expect(
    readFileSync(join(folder, "audit.jsonl"), "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    {
      event: "login",
      login: "passkey_added",
      principal: "local",
      credential: ada.passkey.id,
      reason: "the first",
    },
  ]);
});

it("a passkey approves calls alike within the bounds that it was used for, and no further", async () => {
  const { openedBy, answerTo } = await setUp();
  const ada = await openedBy("local");
  await ada.register();
  const bounds = { decision: "run", calls: "all", atMost: "2" };
  const wider = { ...(await ada.proof(ONE, bounds)), atMost: "900" };
  const refused = await ada.post(`inbox/${ONE}`, wider);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("used for another answer")]);
  await ada.post(`inbox/${ONE}`, await ada.proof(ONE, bounds));
  expect(await answerTo(ONE)).toMatchObject({ decision: "run", atMost: 2 });
});

it("without a passkey a call is denied and not approved", async () => {
  const { openedBy, answerTo, pending } = await setUp();
  const ada = await openedBy("local");
  const plain = await ada.post(`inbox/${ONE}`, { decision: "once" });
  expect(plain.text).toContain(NEEDED);
  const [question] = await pending.find("local", ONE);
  if (question === undefined) throw new Error("nothing waits");
  const typed = { decision: "once", by: "ada", proof: { way: "terminal" } } as const;
  await expect(pending.answer("local", question, typed)).rejects.toThrow(NEEDED);
  await expect(ada.begin(`inbox/${ONE}/passkey`, { decision: "once" })).rejects.toThrow(
    "you have no passkey",
  );
  expect(await answerTo(ONE)).toBeUndefined();
  await ada.post(`inbox/${ONE}`, { decision: "denied" });
  expect(await answerTo(ONE)).toMatchObject({ decision: "denied" });
});

const REFUSED: [
  string,
  string,
  (parts: Awaited<ReturnType<typeof setUp>>, ada: Somebody) => Promise<Record<string, string>>,
][] = [
  ["for another question", "used for another answer", (_, ada) => ada.proof(OTHER)],
  [
    "of another challenge",
    "used for something else",
    async (_, ada) => ({ ...(await ada.proof(ONE)), sealed: (await ada.proof(ONE)).sealed }),
  ],
  [
    "that was counted before",
    "counted before",
    async (_, ada) => {
      const proof = await ada.proof(ONE);
      // It is used up by an answer that does not count.
      await ada.post(`inbox/${OTHER}`, proof);
      return proof;
    },
  ],
  [
    "of a question that was asked too long ago",
    "has expired",
    async ({ later }, ada) => {
      const proof = await ada.proof(ONE);
      later(5 * 60_000);
      return proof;
    },
  ],
  [
    "without the person being verified",
    "User verification",
    async (_, ada) => {
      ada.passkey.verifies = false;
      return ada.proof(ONE);
    },
  ],
  [
    "with a key that is not registered",
    "not one of yours",
    async ({ origin }, ada) => {
      const { options, sealed } = await ada.begin(`inbox/${ONE}/passkey`, { decision: "once" });
      return { decision: "once", sealed, response: new SoftwarePasskey(origin).get(options) };
    },
  ],
  [
    "whose signature is of another key",
    "signature is wrong",
    async ({ origin }, ada) => {
      const { options, sealed } = await ada.begin(`inbox/${ONE}/passkey`, { decision: "once" });
      const forged = JSON.parse(new SoftwarePasskey(origin).get(options));
      const response = JSON.stringify({ ...forged, id: ada.passkey.id, rawId: ada.passkey.id });
      return { decision: "once", sealed, response };
    },
  ],
  [
    "at another origin",
    "Unexpected authentication response origin",
    async (_, ada) => {
      const { options, sealed } = await ada.begin(`inbox/${ONE}/passkey`, { decision: "once" });
      const elsewhere = new SoftwarePasskey("http://localhost:1");
      const said = JSON.parse(elsewhere.get(options));
      const response = JSON.stringify({ ...said, id: ada.passkey.id, rawId: ada.passkey.id });
      return { decision: "once", sealed, response };
    },
  ],
  [
    "of a key whose counter goes back, as that of a copy does",
    "counter",
    async (_, ada) => {
      ada.passkey.counter = 10;
      const { options, sealed } = await ada.begin("me/passkeys/use");
      await ada.post("me/passkeys/offer", { sealed, response: ada.passkey.get(options) });
      ada.passkey.counter = 3;
      return ada.proof(ONE);
    },
  ],
  [
    "of another principal",
    "was not begun here by you",
    async ({ openedBy, ask }) => {
      const eve = await openedBy("eve");
      await eve.register();
      await ask({ ticket: "0000000000000003", principal: "eve" });
      return eve.proof("0000000000000003");
    },
  ],
  [
    "for a change of passkeys",
    "was not begun here by you",
    async (_, ada) => {
      const { options, sealed } = await ada.begin("me/passkeys/use");
      return { decision: "once", sealed, response: ada.passkey.get(options) };
    },
  ],
  [
    "that is no passkey",
    "no answer of a passkey",
    async (_, ada) => ({ ...(await ada.proof(ONE)), response: "{" }),
  ],
];

it.each(REFUSED)("an approval with a passkey %s is refused", async (_, why, prove) => {
  const parts = await setUp();
  const ada = await parts.openedBy("local");
  await ada.register();
  const proof = await prove(parts, ada);
  const refused = await ada.post(`inbox/${ONE}`, proof);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(why)]);
  expect(await parts.answerTo(ONE)).toBeUndefined();
});

it("another passkey is registered, and one removed, with one that is there, and not with a session alone", async () => {
  const { openedBy, origin, audit, folder } = await setUp();
  const ada = await openedBy("local");
  const racing = await ada.begin("me/passkeys/offer");
  await ada.register();
  const second = new SoftwarePasskey(origin);
  await expect(ada.register(second)).rejects.toThrow("adding another passkey needs one that you have");
  const late = { sealed: racing.sealed, response: second.create(racing.options) };
  expect((await ada.post("me/passkeys", late)).text).toContain("your passkeys have changed meanwhile");
  const { options, sealed } = await ada.begin("me/passkeys/use");
  expect(await ada.register(second, { sealed, response: ada.passkey.get(options) })).toMatchObject({
    status: 303,
  });
  const me = await ada.visitor.text("/console/me");
  for (const { id } of [ada.passkey, second]) expect(me).toContain(id);
  const removal = await ada.begin("me/passkeys/use", { credential: ada.passkey.id });
  const removing = { sealed: removal.sealed, response: second.get(removal.options) };
  expect(await ada.post("me/passkeys/remove", removing)).toMatchObject({ status: 303 });
  expect(await ada.visitor.text("/console/me")).not.toContain(ada.passkey.id);
  await audit.close();
  const lines = readFileSync(join(folder, "audit.jsonl"), "utf8").trim().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { login: "passkey_added", reason: "the first" },
    { login: "passkey_added", credential: second.id, reason: `permitted by ${ada.passkey.id}` },
    { login: "passkey_removed", credential: ada.passkey.id, reason: `permitted by ${second.id}` },
  ]);
});

it("a damaged file of passkeys is not taken for there being none", async () => {
  const { openedBy, folder } = await setUp();
  const ada = await openedBy("local");
  await ada.register();
  const kept = join(folder, "ptc/passkeys");
  const [file = ""] = readdirSync(kept).filter((name) => name.endsWith(".json"));
  writeFileSync(join(kept, file), "{}");
  expect(await ada.visitor.text("/console/me")).toContain("is not what ptc has written about passkeys");
  const token = await ada.visitor.token("/console/inbox");
  const offer = await ada.visitor.post("/console/me/passkeys/offer", { token });
  expect(await offer.json()).toEqual({
    why: expect.stringContaining("is not what ptc has written about passkeys"),
  });
});

it("a console at an address of IP says that no passkey can be used there", async () => {
  const served = await serveConsole({}, { approvals: { require: "passkey" } });
  const ada = new Somebody(await enter(served.origin, served.address()), served);
  expect(await ada.visitor.text("/console/me")).toContain(
    "None can be registered: browsers use passkeys at https://",
  );
  await expect(ada.register()).rejects.toThrow("browsers use passkeys at https:// and a name");
});
