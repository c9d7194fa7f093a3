"""The variables a program of a Windows container starts with, named as Windows names them.

Only these, the image's and the pod's reach it: what Wine needs for itself stays with the launcher,
which adds the few that describe the machine (``COMPUTERNAME``, ``NUMBER_OF_PROCESSORS``,
``PROCESSOR_*``).
"""

from collections.abc import Mapping
from typing import Final

_SYSTEM: Final = {
    "ALLUSERSPROFILE": "C:\\ProgramData",
    "CommonProgramFiles": "C:\\Program Files\\Common Files",
    "CommonProgramFiles(x86)": "C:\\Program Files (x86)\\Common Files",
    "CommonProgramW6432": "C:\\Program Files\\Common Files",
    "ComSpec": "C:\\Windows\\system32\\cmd.exe",
    "DriverData": "C:\\Windows\\System32\\Drivers\\DriverData",
    "OS": "Windows_NT",
    "PATHEXT": ".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC",
    "ProgramData": "C:\\ProgramData",
    "ProgramFiles": "C:\\Program Files",
    "ProgramFiles(x86)": "C:\\Program Files (x86)",
    "ProgramW6432": "C:\\Program Files",
    "PSModulePath": (
        "C:\\Program Files\\WindowsPowerShell\\Modules;"
        "C:\\Windows\\system32\\WindowsPowerShell\\v1.0\\Modules"
    ),
    "PUBLIC": "C:\\Users\\Public",
    "SystemDrive": "C:",
    "SystemRoot": "C:\\Windows",
    "USERDOMAIN": "User Manager",
    "windir": "C:\\Windows",
}
_SYSTEM_PATH: Final = (
    "C:\\Windows\\system32",
    "C:\\Windows",
    "C:\\Windows\\System32\\Wbem",
    "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\",
    "C:\\Windows\\System32\\OpenSSH\\",
)


def windows_environment(user: str) -> dict[str, str]:
    """What Windows Server Core gives a process of this container account."""
    profile = f"C:\\Users\\{user}"
    local = f"{profile}\\AppData\\Local"
    return {
        **_SYSTEM,
        "APPDATA": f"{profile}\\AppData\\Roaming",
        "LOCALAPPDATA": local,
        "Path": ";".join((*_SYSTEM_PATH, f"{local}\\Microsoft\\WindowsApps")),
        "TEMP": f"{local}\\Temp",
        "TMP": f"{local}\\Temp",
        "USERNAME": user,
        "USERPROFILE": profile,
    }


def merge_env(*sources: Mapping[str, str]) -> dict[str, str]:
    """Later values win and earlier spellings stay: on Windows PATH sets the variable Path."""
    merged: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for source in sources:
        for name, value in source.items():
            merged[spelled.setdefault(name.lower(), name)] = value
    return merged
