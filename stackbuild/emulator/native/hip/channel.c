// The way to the process that translates: a socket of whole messages, inherited as the descriptor STACKBUILD_EMULATOR_CHANNEL.
// Each request carries a socket of its own for the answer, so that threads and forked processes do not take each other's.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime.h"

enum { MESSAGE = 16384 };

static int channel(void) {
  static int descriptor = -2;
  if (descriptor == -2) {
    const char *number = getenv("STACKBUILD_EMULATOR_CHANNEL");
    int type = 0;
    socklen_t size = sizeof type;
    descriptor = number ? atoi(number) : -1;
    if (descriptor >= 0 && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) descriptor = -1;
  }
  return descriptor;
}

bool channel_is_open(void) { return channel() >= 0; }

static bool send_text(const char *text, size_t bytes, const int *descriptors, int count) {
  char control[CMSG_SPACE(2 * sizeof(int))] = {0};
  struct iovec part = {(void *)text, bytes};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (count) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  }
  ssize_t length;
  do length = sendmsg(channel(), &message, MSG_NOSIGNAL);
  while (length < 0 && errno == EINTR);
  return length >= 0;
}

static int payload_file(const void *payload, size_t bytes) {
  int file = memfd_create("stackbuild-emulator", MFD_CLOEXEC);
  for (size_t at = 0; file >= 0 && at < bytes;) {
    ssize_t part = write(file, (const char *)payload + at, bytes - at);
    if (part <= 0) { close(file); return -1; }
    at += part;
  }
  return file;
}

char *channel_request(const char *text, const void *payload, size_t bytes) {
  int ends[2], file = -1;
  if (channel() < 0) return strdup("error no process translates: run under `stackbuild verify --emulate TARGET`");
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return strdup("error no socket for the answer");
  if (payload && (file = payload_file(payload, bytes)) < 0) {
    close(ends[0]), close(ends[1]);
    return strdup("error no memory for the code object");
  }
  int descriptors[2] = {ends[1], file};
  bool ok = send_text(text, strlen(text), descriptors, payload ? 2 : 1);
  close(ends[1]);
  if (file >= 0) close(file);
  size_t room = 4096, length = 0;
  char *answer = malloc(room);
  while (ok && answer) {
    if (length + 1 >= room) {
      char *larger = realloc(answer, room *= 2);
      if (!larger) break;
      answer = larger;
    }
    ssize_t part = read(ends[0], answer + length, room - length - 1);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) break;
    length += part;
  }
  close(ends[0]);
  if (!answer) abort();
  answer[length] = 0;
  if (!length) {
    free(answer);
    return strdup("error the process that translates is gone");
  }
  return answer;
}

void channel_report(const char *kind, ...) {
  // Fields are separated by the unit separator and records by a message: no value has one (they come from C names and our texts).
  char line[MESSAGE];
  size_t length = 0;
  va_list fields;
  va_start(fields, kind);
  for (const char *text = kind, *head = "report "; text; text = va_arg(fields, const char *), head = "\x1f") {
    for (const char *from = head; *from && length < sizeof line; ++from) line[length++] = *from;
    for (const char *from = text; *from && length < sizeof line; ++from) line[length++] = *from == '\x1f' ? ' ' : *from;
  }
  va_end(fields);
  if (channel() >= 0) send_text(line, length, NULL, 0);
}
