import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFromSources } from "../../ptc-from-sources.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../../terminal/run-on-terminal.ts";

const FILE = ".local/state/ptc/secrets.json";

describe("ptc auth set", () => {
  it("takes a secret from stdin, never shows it, and removes it again", async () => {
    const project = projectFromSources();
    const { env } = project;
    const set = await project.ptc(["auth", "set", "hub/token"], { env, stdin: "s3cret-value\n" });
    expect(set).toEqual({
      code: 0,
      stderr: "",
      stdout: `'hub/token' is kept in ${join(project.directory, FILE)}, which only you may read, because this system has no keyring that answers; ptc.yaml takes it as { keyring: hub/token }\n`,
    });
    expect(JSON.parse(project.read(FILE)).values).toEqual({ "secret/hub/token": "s3cret-value" });
    expect(statSync(join(project.directory, FILE)).mode & 0o777).toBe(0o600);
    const remove = () => project.ptc(["auth", "set", "hub/token", "--remove"], { env });
    expect(await remove()).toMatchObject({ code: 0, stdout: "'hub/token' is removed\n" });
    expect(await remove()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("there is no 'hub/token'"),
    });
  });

  it.each([
    ["a b", "x", "a name in the keyring has 1 to 128 letters"],
    ["a", "", "nothing was given for 'a'; nothing was changed"],
    ["a", "\n", "nothing was given for 'a'; nothing was changed"],
    ["a", "x\0y", "the value of 'a' has a NUL character"],
    ["a", "x".repeat(65_537), "stdin: is larger than 65536 bytes"],
  ])("refuses in one line what it cannot keep (%s)", async (name, stdin, message) => {
    const project = projectFromSources();
    const { code, stdout, stderr } = await project.ptc(["auth", "set", name], { env: project.env, stdin });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^ptc: .*\n$/);
    expect(stderr).toContain(message);
    expect(() => project.read(FILE)).toThrow();
  });
});

describe.skipIf(!hasPython)(`ptc auth set on a terminal${WITHOUT_PYTHON}`, () => {
  it("asks for it and shows nothing of it", async () => {
    const project = projectFromSources();
    const steps: [string, string][] = [["it is not shown\\): ", "s3cret-valuX\u007fe\r"]];
    const screen = await onTerminal(project, steps, ["auth", "set", "hub"], project.env);
    expect(screen).toMatch(/^Value of 'hub' \(it is not shown\): \n'hub' is kept in /);
    expect(JSON.parse(project.read(FILE)).values).toEqual({ "secret/hub": "s3cret-value" });
  });

  it.each([
    ["Ctrl-C", "abc\u0003", /^Value of 'hub' \(it is not shown\): \n$/],
    ["several lines", "line-1\rline-2\r", /has more than one line, and nothing was changed; pipe it in\n$/],
    ["nothing", "\r", /nothing was given for 'hub'; nothing was changed\n$/],
  ])("keeps nothing after %s", async (_, typed, shown) => {
    const project = projectFromSources();
    const steps: [string, string][] = [["it is not shown\\): ", typed]];
    const screen = await onTerminal(project, steps, ["auth", "set", "hub"], project.env);
    expect(screen).toMatch(shown);
    expect(screen).not.toContain("line-1");
    expect(() => project.read(FILE)).toThrow();
  });
});
