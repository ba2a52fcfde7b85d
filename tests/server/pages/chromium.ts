import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Duplex, Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

/** A real Chromium without a window, driven by the DevTools protocol over a pipe. */

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

const FLAGS = [
  "--headless=new",
  "--remote-debugging-pipe",
  "--disable-gpu",
  "--hide-scrollbars",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-dev-shm-usage",
  // Nothing leaves this machine, whatever a page asks for.
  "--host-resolver-rules=MAP * ~NOTFOUND",
  // Its own sandbox cannot be set up by root.
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
];

interface Message {
  id?: number;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the protocol has hundreds of shapes, and each test looks at two or three.
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: the same.
  result?: any;
  error?: { message: string };
}

/** Where Chromium is; `undefined` where it is not installed. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export class Chromium {
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #commands: Writable;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #listeners = new Set<(message: Message) => void>();
  #lastId = 0;
  #received = "";
  #session: string | undefined;

  private constructor(command: string) {
    this.#folder = mkdtempSync(join(tmpdir(), "ptc-chromium-"));
    this.#process = spawn(command, [...FLAGS, `--user-data-dir=${this.#folder}/profile`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    this.#commands = this.#process.stdio[3] as Duplex;
    const replies = this.#process.stdio[4] as Readable;
    replies.setEncoding("utf8").on("data", (text: string) => this.#receive(text));
  }

  static async start(command: string): Promise<Chromium> {
    const browser = new Chromium(command);
    const { targetInfos } = await browser.send("Target.getTargets");
    const { targetId } = targetInfos.find(({ type }: { type: string }) => type === "page");
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    browser.#session = sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await browser.send(`${domain}.enable`);
    return browser;
  }

  /** Opens a page from a file, as a person would, and tells what it asked for and complained about. */
  async open(
    html: string,
    { colours = "light", width = 1280, height = 900, script = true } = {},
  ): Promise<OpenPage> {
    const file = join(this.#folder, "page.html");
    writeFileSync(file, html);
    const url = pathToFileURL(file).href;
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
    const features = [
      { name: "prefers-color-scheme", value: colours },
      { name: "prefers-reduced-motion", value: "reduce" },
    ];
    await this.send("Emulation.setEmulatedMedia", { features });
    await this.send("Emulation.setFocusEmulationEnabled", { enabled: true });
    await this.send("Emulation.setScriptExecutionDisabled", { value: !script });
    const page = new OpenPage(this);
    const stopped = this.#listen((message) => page.hear(message));
    const loaded = new Promise<void>(
      (resolve) => void this.#listen(({ method }) => method === "Page.loadEventFired" && resolve()),
    );
    await this.send("Page.navigate", { url });
    await loaded;
    page.onClose = stopped;
    return page;
  }

  // biome-ignore lint/suspicious/noExplicitAny: see Message.
  send(method: string, params: object = {}): Promise<any> {
    const id = ++this.#lastId;
    const message = { id, method, params, ...(this.#session !== undefined && { sessionId: this.#session }) };
    this.#commands.write(`${JSON.stringify(message)}\0`);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(`${method}: ${error.message}`)),
      );
    });
  }

  async stop(): Promise<void> {
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exited;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #listen(listener: (message: Message) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #receive(text: string): void {
    const messages = (this.#received + text).split("\0");
    this.#received = messages.pop() ?? "";
    for (const json of messages) {
      const message = JSON.parse(json) as Message;
      if (message.id === undefined) for (const listener of this.#listeners) listener(message);
      else this.#waiting.get(message.id)?.(message);
    }
  }
}

export class OpenPage {
  /** Everything it said on the console, threw, or was refused. */
  readonly complaints: string[] = [];
  /** Everything it asked for, itself included. */
  readonly requests: string[] = [];
  onClose: () => void = () => {};
  readonly #browser: Chromium;

  constructor(browser: Chromium) {
    this.#browser = browser;
  }

  hear({ method, params }: Message): void {
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
    if (method === "Page.javascriptDialogOpening") this.complaints.push(`dialog: ${params.message}`);
    if (method === "Log.entryAdded") this.complaints.push(params.entry.text);
    if (method === "Runtime.exceptionThrown") this.complaints.push(JSON.stringify(params.exceptionDetails));
    if (method === "Runtime.consoleAPICalled") this.complaints.push(JSON.stringify(params.args));
  }

  /** The value of an expression in the page. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.#browser.send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result.value as T;
  }

  /** Presses keys one after the other, as DOM names such as `Enter`, or as the character that they give. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      const text = key.length === 1 ? { text: key } : key === "Enter" ? { text: "\r" } : {};
      const code = { Enter: 13, Tab: 9, Escape: 27 }[key];
      const event = { key, ...text, ...(code !== undefined && { windowsVirtualKeyCode: code }) };
      await this.#browser.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
      await this.#browser.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    }
  }

  /** Clicks in the middle of an element. */
  async click(selector: string): Promise<void> {
    const [x, y] = await this.evaluate<[number, number]>(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: "center", behavior: "instant" });
      const { left, top, width, height } = element.getBoundingClientRect();
      return [left + width / 2, top + height / 2];
    })()`);
    const at = { x, y, button: "left", clickCount: 1 };
    await this.#browser.send("Input.dispatchMouseEvent", { type: "mousePressed", ...at });
    await this.#browser.send("Input.dispatchMouseEvent", { type: "mouseReleased", ...at });
  }
}
