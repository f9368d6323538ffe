// The lower bound for comparisons: a Boost.Beast server that reads an HTTPS request, parses its body into a
// RapidJSON document and sends a constant answer. It is written like Beast's own coroutine examples, with one
// io_context on one thread and one coroutine per connection.
#include <rapidjson/document.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/version.hpp>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;

namespace {

// Beast's wrapper sends the head and the body of a response as one TLS record. Asio's stream does not.
using Stream = beast::ssl_stream<tcp::socket>;

// Beast's default of 1 MiB would reject the large conversion review.
constexpr std::uint64_t kBodyLimit = 256ULL << 20;

http::response<http::string_body> respond(const http::request<http::string_body>& request,
                                          const std::string& answer) {
  rapidjson::Document document;
  document.Parse(request.body().data(), request.body().size());
  const bool good = !document.HasParseError() && document.IsObject();
  http::response<http::string_body> response{good ? http::status::ok : http::status::bad_request,
                                             request.version()};
  response.set(http::field::content_type, "application/json");
  response.keep_alive(request.keep_alive());
  response.body() = good ? answer : "";
  response.prepare_payload();
  return response;
}

asio::awaitable<void> serve(Stream stream, const std::string& answer) {
  try {
    co_await stream.async_handshake(ssl::stream_base::server, asio::use_awaitable);
    beast::flat_buffer buffer;
    for (bool alive = true; alive;) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(kBodyLimit);
      co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
      const auto response = respond(parser.get(), answer);
      alive = response.keep_alive();
      co_await http::async_write(stream, response, asio::use_awaitable);
    }
    co_await stream.async_shutdown(asio::use_awaitable);
  } catch (const boost::system::system_error&) {
    // The client has closed the connection.
  }
}

asio::awaitable<void> listen(tcp::acceptor& acceptor, ssl::context& context, const std::string& answer) {
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(acceptor.get_executor(), serve(Stream(std::move(socket), context), answer),
                   asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::cout << "Boost " << BOOST_LIB_VERSION << ", compiler " << __VERSION__ << "\n";
    return 0;
  }
  if (argc != 4) {
    std::cerr << "usage: bench_plain_beast PORT CERT_DIR ANSWER_FILE\n";
    return 2;
  }
  const std::string certDir = argv[2];
  std::ifstream file(argv[3]);
  const std::string answer{std::istreambuf_iterator<char>(file), {}};
  ssl::context context(ssl::context::tlsv13_server);
  context.use_certificate_chain_file(certDir + "/tls.crt");
  context.use_private_key_file(certDir + "/tls.key", ssl::context::pem);

  asio::io_context io(1);
  tcp::acceptor acceptor(io,
                         {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoul(argv[1]))});
  asio::co_spawn(io, listen(acceptor, context, answer), asio::detached);
  io.run();
}
