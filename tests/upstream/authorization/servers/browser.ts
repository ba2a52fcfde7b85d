/** What somebody fills in: where a page's form goes, and what it says. `undefined` where they leave the page as it is. */
export type FillIn = (page: string) => { action: string; fields: Record<string, string> } | undefined;

/** A browser that follows redirects and keeps cookies. It fills in the forms that `fillIn` knows, and does nothing else. */
export class ScriptedBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();
  /** The addresses that it was sent to, in order. */
  readonly visited: string[] = [];
  readonly #fillIn: FillIn;

  constructor(fillIn: FillIn = () => undefined) {
    this.#fillIn = fillIn;
  }

  /** Makes one request with the cookies of its host. */
  async ask(address: string, init: RequestInit = {}): Promise<Response> {
    const url = new URL(address);
    const cookie = [...(this.#cookies.get(url.host) ?? [])]
      .map(([name, value]) => `${name}=${value}`)
      .join("; ");
    return fetch(url, { ...init, redirect: "manual", headers: { ...init.headers, cookie } });
  }

  /**
   * Opens an address and follows every redirect.
   *
   * @param stopAt does not open an address for which this is true, as a browser that cannot reach it; returns it instead.
   */
  async open(
    address: string,
    stopAt: (url: URL) => boolean = () => false,
  ): Promise<{ url: string; status: number }> {
    let url = new URL(address);
    let body: URLSearchParams | undefined;
    for (let redirects = 0; redirects < 20; redirects++) {
      this.visited.push(url.href);
      if (stopAt(url)) return { url: url.href, status: 0 };
      const jar = this.#cookies.get(url.host) ?? new Map<string, string>();
      this.#cookies.set(url.host, jar);
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(url, {
        redirect: "manual",
        headers: cookie === "" ? {} : { cookie },
        ...(body && { method: "POST", body }),
      });
      body = undefined;
      for (const set of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        if (value === "" || /expires=Thu, 01 Jan 1970/i.test(set)) jar.delete(name);
        else jar.set(name, value);
      }
      const page = await response.text();
      const location = response.headers.get("location");
      const form = location === null ? this.#fillIn(page) : undefined;
      const next = location ?? form?.action;
      if (next === undefined) return { url: url.href, status: response.status };
      if (form !== undefined) body = new URLSearchParams(form.fields);
      url = new URL(next, url);
    }
    throw new Error("too many redirects");
  }
}
