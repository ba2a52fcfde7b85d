/**
 * What `ptc setup` does on a machine, as a pure function of what that machine is: steps, each a command that the person may read first, or advice where
 * ptc cannot do it. docs/engines.md says which of them were tried.
 */
import type { Machine } from "./machine.ts";

export interface SetupStep {
  /** What it does, as a question without its mark. */
  does: string;
  command: readonly string[];
}

export interface SetupPlan {
  steps: readonly SetupStep[];
  /** What the person does, after the steps or in their place. */
  advice: readonly string[];
}

/** The files of the package that set-up uses. */
export interface SetupFiles {
  /** Sets up Docker and gVisor from the distribution's packages, or registers gVisor with a Docker that is there. */
  engine: string;
  /** Installs gVisor as its makers release it. */
  gvisor: string;
  /** The virtual machine for Lima. */
  lima: string;
}

/** How a family of distributions gets what gVisor runs beside. */
interface Family {
  ids: readonly string[];
  /** Its package manager. */
  needs: string;
  packages: string;
  install: readonly string[];
  /** `docker`: Docker, with gVisor as a runtime. `runsc`: gVisor alone. */
  engine: "docker" | "runsc";
}

const FAMILIES: readonly Family[] = [
  {
    // Its repositories have no Docker. Podman fetches the base of the image.
    ids: ["rhel", "centos", "rocky", "almalinux", "ol"],
    needs: "dnf",
    packages: "podman and erofs-utils",
    install: ["dnf", "install", "-y", "podman", "erofs-utils"],
    engine: "runsc",
  },
  {
    ids: ["fedora"],
    needs: "dnf",
    packages: "moby-engine, which is Docker",
    install: ["dnf", "install", "-y", "moby-engine"],
    engine: "docker",
  },
  {
    ids: ["arch"],
    needs: "pacman",
    packages: "docker",
    install: ["pacman", "-S", "--needed", "--noconfirm", "docker"],
    engine: "docker",
  },
  {
    ids: ["alpine"],
    needs: "apk",
    packages: "docker",
    install: ["apk", "add", "docker"],
    engine: "docker",
  },
  {
    ids: ["suse", "opensuse", "sles"],
    needs: "zypper",
    packages: "docker",
    install: ["zypper", "--non-interactive", "install", "docker"],
    engine: "docker",
  },
];

const WASM =
  "Without gVisor: `PTC_ENGINE=wasm ptc up` runs programs in interpreters in WebAssembly, behind a weaker wall.";

/** The name of the virtual machine; ptc looks for its socket. */
const LIMA_NAME = "ptc";

/** What is to be done where no engine with gVisor is. */
export function planSetup(machine: Machine, files: SetupFiles): SetupPlan {
  if (machine.platform === "darwin") return planMac(machine, files);
  if (machine.platform !== "linux") return ON_WINDOWS;
  const root = rootCommand(machine);
  if (root === undefined)
    return { steps: [], advice: [`Only root can do this, and there is neither sudo nor doas.`, WASM] };
  const after = machine.isRoot ? [] : [`Then let your user reach Docker, which is as good as root: ${GROUP}`];
  if (isDebian(machine) && machine.commands.has("apt-get"))
    return {
      steps: [
        {
          does: "Install Docker and gVisor from the distribution's packages, and make them known to each other",
          command: [...root, "sh", files.engine],
        },
      ],
      advice: after,
    };
  const family = familyOf(machine);
  if (family === undefined)
    return {
      steps: [],
      advice: [
        `ptc does not know how ${machine.distribution?.title ?? "this Linux"} installs packages.`,
        "Install Docker (https://docs.docker.com/engine/install/) and gVisor (https://gvisor.dev/docs/user_guide/install/).",
        `Then make them known to each other: ${[...root, "sh", files.engine].join(" ")}`,
        WASM,
      ],
    };
  const has = family.engine === "docker" ? "dockerd" : "podman";
  const steps = [
    {
      isDone: machine.commands.has(has),
      does: `Install ${family.packages}`,
      command: [...root, ...family.install],
    },
    {
      isDone: machine.commands.has("runsc"),
      does: "Install gVisor as its makers release it, checked against their digest",
      command: [...root, "sh", files.gvisor],
    },
    {
      isDone: family.engine !== "docker",
      does: "Make Docker and gVisor known to each other, and start Docker",
      command: [...root, "sh", files.engine],
    },
  ];
  return {
    steps: steps.flatMap(({ isDone, ...step }) => (isDone ? [] : [step])),
    advice: family.engine === "docker" ? after : ["ptc then runs gVisor by itself, without Docker."],
  };
}

/** What takes back what `planSetup` has done. */
export function planUndo(machine: Machine, files: SetupFiles): SetupPlan {
  if (machine.platform === "darwin")
    return {
      steps: machine.commands.has("limactl")
        ? [
            {
              does: `Delete the virtual machine '${LIMA_NAME}' with all that is in it`,
              command: ["limactl", "delete", "--force", LIMA_NAME],
            },
          ]
        : [],
      advice: ["Lima itself stays: brew uninstall lima"],
    };
  const root = rootCommand(machine);
  if (machine.platform !== "linux" || root === undefined) return { steps: [], advice: [] };
  const engine = {
    does: "Take back what ptc has noted of Docker and gVisor: packages, configuration, a suite of packages",
    command: [...root, "sh", files.engine, "--undo"],
  };
  if (isDebian(machine)) return { steps: [engine], advice: [] };
  const family = familyOf(machine);
  return {
    steps: [
      { does: "Remove the runsc that ptc has installed", command: [...root, "sh", files.gvisor, "--undo"] },
      engine,
    ],
    advice: family === undefined ? [] : [`What ${family.needs} has installed stays: ${family.packages}.`],
  };
}

const GROUP = 'sudo usermod -aG docker "$USER", and log in again';

const ON_WINDOWS: SetupPlan = {
  steps: [],
  advice: [
    "gVisor needs Linux. Windows has one: wsl --install -d Debian",
    "Install Node.js and ptc inside of it, and write `ptc setup` there.",
    WASM,
  ],
};

function planMac({ commands }: Machine, { lima }: SetupFiles): SetupPlan {
  const colima = commands.has("colima")
    ? ["Colima would do as well: docs/engines.md has what to write into its configuration."]
    : [];
  if (!commands.has("limactl") && !commands.has("brew"))
    return { steps: [], advice: ["Install Lima (https://lima-vm.io), and run this again.", ...colima, WASM] };
  const install = { does: "Install Lima, which runs Linux on a Mac", command: ["brew", "install", "lima"] };
  const start = {
    does: `Make and start the virtual machine '${LIMA_NAME}' (2 processors, 4 GiB) with Docker and gVisor in it`,
    command: ["limactl", "start", `--name=${LIMA_NAME}`, "--tty=false", lima],
  };
  return {
    steps: commands.has("limactl") ? [start] : [install, start],
    advice: [`After a restart of the Mac: limactl start ${LIMA_NAME}`, ...colima],
  };
}

/** What a command that needs root begins with. */
function rootCommand({ isRoot, commands }: Machine): readonly string[] | undefined {
  if (isRoot) return [];
  const found = ["sudo", "doas"].find((name) => commands.has(name));
  return found === undefined ? undefined : [found];
}

function isDebian({ distribution }: Machine): boolean {
  return namesOf(distribution).some((name) => name === "debian" || name === "ubuntu");
}

function familyOf({ distribution, commands }: Machine): Family | undefined {
  const names = namesOf(distribution);
  return FAMILIES.find(({ ids, needs }) => commands.has(needs) && ids.some((id) => names.includes(id)));
}

/** A distribution's own name before those of what it is made from. */
function namesOf(distribution: Machine["distribution"]): readonly string[] {
  return distribution === undefined ? [] : [distribution.id, ...distribution.like];
}
