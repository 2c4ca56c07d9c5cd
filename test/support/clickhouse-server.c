// Turns the engine library of the npm package chdb into a ClickHouse server on loopback.
//
// usage: clickhouse-server LIBCHDB [clickhouse-local options]; the options must end with a query that reads standard input.
//
// The library exports the whole of clickhouse-local as chdb_query_cmdline(argc, argv), and `SYSTEM START LISTEN` opens
// its ports. Two things need C: the engine checks the bounds of a native thread's stack, which a call out of Node fails, and
// it can read standard input from a pipe but not from the socket that Node gives a child. So a thread holds the socket
// and the engine gets a pipe: when the parent closes its end, or dies, the pipe closes, the last query ends and so does the server.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GRACE_SECONDS = 10 };

struct leash {
  int parent; // Read until it ends; what it carries is of no interest.
  int engine; // Closed at that moment.
};

static void *hold_leash(void *argument) {
  const struct leash *leash = argument;
  char ignored[256];
  while (read(leash->parent, ignored, sizeof ignored) > 0) {
  }
  close(leash->engine);
  sleep(GRACE_SECONDS);
  _exit(3); // The engine did not end by itself: nobody is left who could end it.
}

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (address == NULL) {
    fprintf(stderr, "the engine library has no %s\n", name);
    exit(2);
  }
  return address;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s LIBCHDB [clickhouse-local options]\n", argv[0]);
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  void *(*run)(int, char **) = (void *(*)(int, char **))symbol(library, "chdb_query_cmdline");
  const char *(*error_of)(void *) = (const char *(*)(void *))symbol(library, "chdb_result_error");

  int ends[2];
  static struct leash leash;
  pthread_t thread;
  if (pipe(ends) != 0 || (leash.parent = dup(STDIN_FILENO)) < 0 || dup2(ends[0], STDIN_FILENO) < 0) {
    perror("standard input");
    return 2;
  }
  close(ends[0]);
  leash.engine = ends[1];
  if (pthread_create(&thread, NULL, hold_leash, &leash) != 0) {
    fprintf(stderr, "no thread for standard input\n");
    return 2;
  }

  void *result = run(argc - 1, argv + 1); // argv[1] stands where a program's own name would be.
  const char *error = result == NULL ? NULL : error_of(result);
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  return 0;
}
