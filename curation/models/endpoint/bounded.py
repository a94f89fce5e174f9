"""Read the body of a response up to a size and a time, whatever the server sends."""

import time

import requests
from requests.exceptions import ChunkedEncodingError, ContentDecodingError
from urllib3.exceptions import DecodeError, HTTPError, ReadTimeoutError

LARGEST = 64 << 20  # bytes, uncompressed
PATIENCE = 10  # times the time without any answer: some servers send blanks while a model thinks
_PART = 1 << 16


class TooLargeError(requests.RequestException):
    """The body is larger than ``LARGEST``."""


def read_body(response: requests.Response, *, seconds: float, largest: int = LARGEST) -> bytes:
    """The body of a response that was requested with ``stream=True``.

    Args:
        response: the response; its connection can be used again only if all of it was read.
        seconds: the longest time for the whole body.
        largest: the largest number of bytes, uncompressed.

    Raises:
        RequestException: ``TooLargeError``, ``Timeout``, or the connection was lost.
    """
    end, parts, size = time.monotonic() + seconds, list[bytes](), 0
    try:
        with response:
            # Not ``read``, which waits for all bytes of a slow server.
            while part := response.raw.read1(_PART, decode_content=True):
                parts.append(part)
                size += len(part)
                if size > largest:
                    raise TooLargeError(f"the answer is larger than {largest >> 20} MiB")
                if time.monotonic() > end:
                    raise requests.Timeout(f"the answer did not end within {seconds:g} s")
    except ReadTimeoutError as error:
        raise requests.ReadTimeout(error) from None
    except DecodeError as error:
        raise ContentDecodingError(error) from None
    except HTTPError as error:
        raise ChunkedEncodingError(error) from None
    return b"".join(parts)
