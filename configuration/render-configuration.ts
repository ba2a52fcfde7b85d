import { stringify } from "yaml";
import type { ServerEntry } from "./schema.ts";

const HEAD = `# The MCP servers whose tools programs can call, and what programs may do. \`ptc generate\` follows every change here.
`;

const EXAMPLE = `# servers:
#   - name: github                  # servers/github/index.ts, mcp__github__<tool>
#     transport: stdio              # stdio | http | sse
#     command: npx
#     args: ["-y", "@modelcontextprotocol/server-github"]
#     env: { GITHUB_TOKEN: "\${GITHUB_TOKEN}" }   # taken from your environment
#   - name: internal-apis
#     transport: http
#     url: "https://apis.example.com/mcp"
#     headers: { Authorization: "Bearer \${TOKEN}" }
#     # or { file: PATH }, { command: [op, read, ...] }, { keyring: NAME }, each with or without prefix: "Bearer "
`;

const REST = `
# Tools by namespaced name; \`*\` is a wildcard. Either block or allow. Commands of this machine can be tools too, without a server.
# tools:
#   block: ["mcp__internal_apis__delete_*"]
#   local:
#     - name: word_count            # servers/local/index.ts, mcp__local__word_count
#       description: Counts the words of a text
#       command: ["wc", "-w"]       # no shell; "{name}" in an element is an argument's value
#       stdin: "{text}"             # without it: the arguments as JSON
#       inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
#       output: text                # text | json
#       exit_codes: [0]             # those that mean no failure
#       timeout_seconds: 10

# Asked for before they are called, besides tools that say that they are destructive; \`allow\` is never asked for.
# approvals:
#   ask: ["mcp__*__delete_*"]
#   allow: []
#   require: any                    # terminal: an approval counts only when it is typed at one
#   suspend: true                   # a run that waits longer than its client can gives up its sandbox, and goes on later
#   expire_minutes: 1440

# Who may call what by rules in Cedar, and by what a run has read (labels).
# policy:
#   files: [rules.cedar]

# What programs may be in. The first is that of programs that do not say it, and of the signatures that a model reads.
# languages: [typescript]           # python

# What one program may use.
# execution:
#   timeout_seconds: 120
#   max_output_bytes: 65536         # console text and envelope
#   max_reply_bytes: 16384          # what a model is shown of them; it reads the rest with read_output
#   tool_call_timeout_seconds: 30
#   max_parallel_calls: 10
#   max_tool_calls: 1000
#   max_parallel_programs: 4        # of \`ptc serve\`; without it, as the machine has cores and memory
#   memory_mb: 512
#   typecheck: error                # error | warn | off
#   schema_mismatch: warn           # error: a call whose answer contradicts its tool's outputSchema fails, with the answer in the error

# With it, programs that name a session find the variables and files of those before it. Without it, there are none.
# sessions:
#   max: 4                          # at a time
#   idle_minutes: 10                # a session ends when no program came for so long

# Where sandboxes come from.
# sandbox:
#   warm: 2                         # sandboxes kept started by \`ptc serve\`, at least; 0 turns the pool off
#   max_warm: 8                     # and at most, while many programs come; without it, as the machine has cores and memory
#   channel: auto                   # how programs reach ptc: socket, attached, or what the engine can do
#   python_packages: []             # such as [numpy, pandas]: packages of the distribution for programs in Python; \`ptc image build\` builds them in

# What is ready for later commands is kept by a process in the background, until none came for so long. \`host: off\`: none is.
# host:
#   idle_seconds: 600

# Tools are found by words; a model for embeddings finds them by meaning too. Names and descriptions of tools are sent to it.
# search:
#   embedding: { url: "http://127.0.0.1:11434/v1", model: all-minilm }
#   rerank: { url: "http://127.0.0.1:11434/v1", model: llama3.2 }

# The model that \`extract(value, type)\` of programs asks. Without it, programs have no such function.
# extract:
#   url: "http://127.0.0.1:11434/v1"
#   model: llama3.2
#   max_calls: 100                  # of one program

# Personal data that is taken out of what leaves a run: email, phone, card, iban, national_id, ip. Off without it.
# pii:
#   redact: [email, phone]
#   countries: [DE, US]             # whose phone numbers are written without a country's code

# The tools that a model has beside ptc's own: all if their definitions cost little (auto), all (direct), or none (search);
# and those that \`direct\` names in any case: a server, SERVER.TOOL, or a pattern such as mcp__github__get_*.
# discovery: auto
# direct: []

# What tools do not declare of their results is learned from archived results. \`off\`: nothing is learned or used.
# learn: on

# Every call and run has a line in .ptc/audit.jsonl. \`strict\`: a call that may change something goes out only when its line is on the disk.
# audit:
#   strict: false
#   keep_days: 365

# Every run is kept, so that it can be looked at and replayed.
# archive:
#   path: .ptc/archive.db
#   keep_days: 30
`;

/** The text of a new ptc.yaml: the servers, and every other key commented out with its default. */
export function renderConfiguration(servers: readonly ServerEntry[]): string {
  const list = servers.length === 0 ? EXAMPLE : stringify({ servers }, { lineWidth: 0, blockQuote: false });
  return `${HEAD}${list}${REST}`;
}
