"""What Windows says of an error, where Wine says it in other words: number -> message.

Programs print these (``cmd``, Go, Python, .NET), and scripts look for them.
"""

from typing import Final

MESSAGES: Final = {
    1: "Incorrect function.",
    2: "The system cannot find the file specified.",
    3: "The system cannot find the path specified.",
    4: "The system cannot open the file.",
    5: "Access is denied.",
    6: "The handle is invalid.",
    13: "The data is invalid.",
    15: "The system cannot find the drive specified.",
    16: "The directory cannot be removed.",
    17: "The system cannot move the file to a different disk drive.",
    18: "There are no more files.",
    19: "The media is write protected.",
    21: "The device is not ready.",
    32: "The process cannot access the file because it is being used by another process.",
    33: "The process cannot access the file because another process has locked a portion of the"
    " file.",
    50: "The request is not supported.",
    53: "The network path was not found.",
    67: "The network name cannot be found.",
    80: "The file exists.",
    87: "The parameter is incorrect.",
    109: "The pipe has been ended.",
    110: "The system cannot open the device or file specified.",
    112: "There is not enough space on the disk.",
    120: "This function is not supported on this system.",
    122: "The data area passed to a system call is too small.",
    123: "The filename, directory name, or volume label syntax is incorrect.",
    126: "The specified module could not be found.",
    127: "The specified procedure could not be found.",
    145: "The directory is not empty.",
    183: "Cannot create a file when that file already exists.",
    206: "The filename or extension is too long.",
    232: "The pipe is being closed.",
    258: "The wait operation timed out.",
    267: "The directory name is invalid.",
    1060: "The specified service does not exist as an installed service.",
    1326: "The user name or password is incorrect.",
    10013: "An attempt was made to access a socket in a way forbidden by its access permissions.",
    10048: "Only one usage of each socket address (protocol/network address/port) is normally"
    " permitted.",
    10049: "The requested address is not valid in its context.",
    10051: "A socket operation was attempted to an unreachable network.",
    10054: "An existing connection was forcibly closed by the remote host.",
    10060: "A connection attempt failed because the connected party did not properly respond after"
    " a period of time, or established connection failed because connected host has failed to"
    " respond.",
    10061: "No connection could be made because the target machine actively refused it.",
    10065: "A socket operation was attempted to an unreachable host.",
    11001: "No such host is known.",
}
