import { dirname } from "node:path";
import { expect, it } from "vitest";
import { envelopeOf, fixtureServer, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

const MAIL = fixtureServer("mail", "env-dump.mjs");

it.each([
  ["as processes of this machine", {}],
  ["in sandboxes of their own", { sandbox: { files: [{ path: dirname(MAIL.args[0] ?? "") }] } }],
])("a program uses several accounts of a server by their names in its types, %s", async (_, more) => {
  const accounts = {
    work: { env: { KEY_OF_WORK: "work-1234567890" } },
    private: { env: { KEY_OF_HOME: "home-1234567890" } },
  };
  const program = (account: string) =>
    `import { go } from "./servers/mail";
    const { env } = await go({ account: "${account}" }) as { env: object };
    console.log(Object.keys(env).filter((name) => name.startsWith("KEY_")).join());`;
  const project = newProject({
    "ptc.yaml": { servers: [{ ...MAIL, ...more, accounts }] },
    ...Object.fromEntries(["work", "private", "other"].map((account) => [`${account}.ts`, program(account)])),
  });
  expect(await project.ptc(["generate"])).toMatchObject({ code: 0 });
  const resultOf = async (file: string) => envelopeOf(await project.ptc(["run", file])).result;
  expect(await resultOf("work.ts")).toMatchObject({
    ok: true,
    data: expect.stringMatching(/^KEY_OF_WORK\n?$/),
  });
  expect(await resultOf("private.ts")).toMatchObject({
    ok: true,
    data: expect.stringMatching(/^KEY_OF_HOME\n?$/),
  });
  expect(await resultOf("other.ts")).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining('"work" | "private"') },
  });
});
