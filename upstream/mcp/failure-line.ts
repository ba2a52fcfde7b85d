/**
 * Finds in the stderr of a server why it failed. The cause is rarely the last line: package managers, runtimes and frameworks print
 * traces, advice and summaries around it. Each line has a rank by its form, and the last line of the highest rank counts, because
 * runtimes print the cause of an exception after the exception.
 */

/** The most lines that are looked at, from the end. Earlier lines of a server that ran for long say nothing about its end. */
const MAX_LINES = 60;
const MAX_LINE_CHARS = 300;
const MAX_PLAIN_LINES = 3;

/** What is printed around a cause: frames, marks, sources, advice, summaries, progress. */
const NOISE: readonly RegExp[] = [
  // Node.js, Deno and Bun
  /^at\s/,
  /^[\^~\s|]+$/,
  /^Node\.js v[\d.]+/,
  /^Bun v[\d.]+/,
  /^(?:node:)?internal\/\S+:\d+$/,
  /^(?:file:\/\/|\/|[A-Za-z]:\\)\S*:\d+(?::\d+)?$/,
  /^node:\S+:\d+$/,
  /^throw (?:err|er|error|new)\b/,
  /^(?:code|errno|syscall|hostname|address|port|path|url|requireStack|stack|isLexerError|generatedMessage|actual|expected|operator|diff):/,
  /^- ?(?:\/|[A-Za-z]:\\)\S+$/,
  /^Require stack:$/,
  /^Emitted 'error' event\b/,
  /^Thrown at:$/,
  /^\(Use `node --trace/,
  /^\(node:\d+\)/,
  /^[{}[\](),;]+$/,
  /^Error$/,
  // npm, pnpm, yarn
  /^npm (?:error|ERR!) A complete log of this run can be found in/,
  /^npm (?:error|ERR!) (?:code|errno|syscall|path|dest|command|cwd|workspace|signal|lifecycle|Lifecycle)\b/,
  /^npm (?:error|ERR!) (?:404|notarget|network|enoent|nospc)\s*$/,
  /^npm (?:error|ERR!) 404 (?:Note that you can also|tarball, folder)/,
  /^npm (?:error|ERR!) (?:notarget|network|enoent|syscall) (?:In most cases|This is|If you are behind|.*'proxy' config)/,
  /^npm (?:error|ERR!)\s*(?:at\s.*)?$/,
  /^npm (?:warn|WARN|notice|info|http|verb|timing)\b/,
  /^(?:added|changed|removed|up to date|audited)\b.*packages? in /,
  /^(?:Need to install the following packages|Ok to proceed)/,
  /^Progress: resolved/,
  // Python, uv
  /^Traceback \(most recent call last\):/,
  /^File ".*", line \d+/,
  /^During handling of the above exception/,
  /^The above exception was the direct cause/,
  /^[~^]+$/,
  /^For further information visit https:\/\/errors\.pydantic/,
  /^(?:Installed|Resolved|Prepared|Downloaded|Downloading|Building|Built|Audited|Uninstalled)\b.*(?:package|\bin [\d.]+m?s|MiB|KiB|==)/,
  /^hint:/,
  // Go, Rust, Java, .NET, docker
  /^goroutine \d+ \[/,
  /^(?:main|runtime|[\w.]+\/[\w./-]+)\.[\w.()*]+\(.*\)$/,
  /^\S+\.go:\d+(?: \+0x[\da-f]+)?$/,
  /^(?:exit status|\[signal) /,
  /^note: run with `RUST_BACKTRACE/,
  /^(?:stack backtrace:|\d+: 0x[\da-f]+)/,
  /^\.\.\. \d+ (?:more|common frames omitted)/,
  /^Unable to find image '.*' locally$/,
  /^(?:See|Run) '?docker .*--help/,
  /^(?:latest|[\w.-]+): Pulling from |^[\da-f]{12}: |^Digest: sha256:|^Status: /,
  /^(?:usage|Usage|Flags|Options|Commands|Available Commands):/,
  /^-{1,2}[\w-]+(?:[ ,=].*)?$/,
  /^[=*#_\s-]+$/,
];

/** Forms of lines, from the most telling one on. */
const RANKS: readonly (readonly RegExp[])[] = [
  [
    // What is missing: a module, a package, a command, a file.
    /\bCannot find (?:module|package)\b/,
    /\b(?:ModuleNotFoundError|ClassNotFoundException|NoClassDefFoundError|LoadError)\b/,
    /\bNo module named\b/,
    /\bcould not be found or you do not have permission|is not in (?:this|the npm) registry|No matching version found|No versions available/,
    /\bcould not determine executable to run\b/,
    /\bwas not found in the package registry\b|\bNo solution found when resolving\b/,
    /\b(?:executable|entrypoint|command|program)\b.*\bis not provided by package\b|\bexecutable `?\S+`? was not found/i,
    /\bcommand not found\b|: not found$|\bexecutable file not found\b|\bFailed to spawn\b/,
    /\bUnable to access jarfile\b|\bCould not find or load main class\b/,
    /\bcan't open file\b|\bcannot open shared object file\b|\berror while loading shared libraries\b|\bLibrary not loaded\b/,
    /\bNo such file or directory\b|\bENOENT\b/,
    /\bpull access denied\b|\bmanifest (?:for \S+ not found|unknown)|\binvalid reference format\b/,
    /\bCannot connect to the Docker daemon\b|\bpermission denied while trying to connect to the Docker\b/i,
    /\bno required module provides package\b|\bcannot find main module\b/,
    // What is taken, full or not allowed.
    /\bEADDRINUSE\b|\baddress already in use\b|\bport \d+ (?:is|was) already (?:in use|allocated)/i,
    /\bheap out of memory\b|\bOutOfMemoryError\b|\bCannot allocate memory\b|\bMemoryError\b/,
    /\bENOSPC\b|\bno space left on device\b/i,
    /\bEACCES\b|\bEPERM\b|\bPermission denied\b/i,
    /\bexec format error\b|\bUnsupportedClassVersionError\b|\bUnsupported engine\b|\bNot compatible with your version of node\b/i,
    // What has to be set.
    /\b(?:environment variables?|env(?:ironment)? vars?)\b.*\b(?:required|missing|not set|must be set|unset|needed|not found|undefined|provide)/i,
    /\b(?:required|missing|set|provide|unset|no|without)\b.*\b(?:environment variables?|env vars?)\b/i,
    /\b(?:api[ _-]?keys?|[A-Z][A-Z\d]*_(?:[A-Z\d_]*_)?(?:KEY|TOKEN|SECRET|URL|ID|PASSWORD|HOST|DSN))\b.*\b(?:required|missing|not set|must be|is not|unset|needed|not found|undefined|not provided|not configured|empty|invalid)\b/i,
    /\b(?:missing|required|provide|set|no|invalid)\b.*\b(?:api[ _-]?keys?|[A-Z][A-Z\d]*_(?:[A-Z\d_]*_)?(?:KEY|TOKEN|SECRET|URL|ID|PASSWORD|HOST|DSN)|access token|credentials)\b/i,
    /^KeyError: '[A-Z][A-Z\d_]*'$/,
    /\bthe following arguments are required\b|\bmissing required (?:argument|option|flag|parameter)|\bunrecognized arguments\b/i,
    /\bunknown (?:flag|option|argument|command)\b|\bflag provided but not defined\b|\bbad option\b|\bunexpected argument\b/i,
    /\bvalidation errors? for \w+/,
    // What cannot be reached.
    /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|CERT_HAS_EXPIRED|UNABLE_TO_\w+|SELF_SIGNED_\w+)\b/,
    /\bnpm (?:error|ERR!) (?:401|403|E401|E403|request to)\b/,
  ],
  [/^Caused by: \S/, /^\[cause\]: /],
  [
    /^(?:Uncaught (?:\(in promise\) )?|Unhandled (?:exception|rejection)[.:]? |Exception in thread "[^"]*" |panic: |fatal error: |FATAL ERROR: |error: Uncaught)\S?/i,
    /^(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception|Exit|Interrupt)(?: \[\w+\])?: \S/,
    /^thread '.*' panicked at/,
    /^(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception)$/,
    /^Error response from daemon: |^docker: /,
  ],
  [
    /^(?:npm (?:error|ERR!)|error|fatal|\[?(?:ERROR|FATAL|CRITICAL)\]?|Error|Fatal error)\b.*\S/,
    /: (?:fatal )?error: \S/i,
  ],
  [
    /\b(?:error|fatal|failed|failure|cannot|can't|could not|couldn't|unable to|denied|refused|required|missing|invalid|not found|expired|unauthori[sz]ed)\b/i,
  ],
];

/** Why a server failed, as its stderr says, in one line of at most 300 characters; empty if it says nothing. */
export function failureLine(stderr: string): string {
  const lines = stderr
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
    .replace(/\x1b\[[\d;?]*[A-Za-z]/g, "")
    .split(/[\r\n]+/)
    .map((line) => ({ text: line.trim().replace(/\s+/g, " "), isIndented: /^\s/.test(line) }))
    .filter(({ text }) => text !== "")
    .filter(({ text }) => !NOISE.some((noise) => noise.test(text)))
    .slice(-MAX_LINES);
  for (const forms of RANKS) {
    const index = lines.findLastIndex(({ text }) => forms.some((form) => form.test(text)));
    if (index >= 0) return cut(withRest(lines, index));
  }
  const last = lines.slice(-MAX_PLAIN_LINES).map(({ text }) => text);
  return last.join(" | ").slice(-MAX_LINE_CHARS);
}

/** A line with what continues it: what pydantic says of each field, the wrapped text of uv, the message of a panic. */
function withRest(lines: readonly { text: string; isIndented: boolean }[], index: number): string {
  const text = (at: number) => (lines[at]?.text ?? "").replace(/^[×╰├─▶│>\s]+/u, "");
  const first = text(index);
  const next = lines[index + 1];
  if (next === undefined) return first;
  if (/\bvalidation errors? for \w+$/.test(first) || /panicked at \S+:$/.test(first) || first.endsWith(":"))
    return [first.replace(/:$/, ""), text(index + 1), text(index + 2)]
      .filter((part) => part !== "")
      .slice(0, 3)
      .join(": ");
  // uv wraps its sentences, and indents what it has wrapped.
  return /[a-z,]$/.test(first) && next.isIndented && /^[a-z]/.test(next.text)
    ? `${first} ${next.text}`
    : first;
}

function cut(text: string): string {
  return text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}...` : text;
}
